// undici has types for its index alone.
declare module 'undici/lib/dispatcher/agent.js';
declare module 'undici/lib/dispatcher/proxy-agent.js';
declare module 'undici/lib/api/api-request.js';
declare module 'undici/lib/dispatcher/dispatcher.js';
declare module 'undici/lib/api/api-connect.js';
