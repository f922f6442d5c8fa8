// What is used of undici, by the files it is in: its index loads fetch, web sockets and caches too,
// which would cost every host 16 MB of memory for nothing. The version is exact in package.json.
import type { Agent as AgentClass, Dispatcher, ProxyAgent as ProxyAgentClass } from 'undici';
import agent from 'undici/lib/dispatcher/agent.js';
import proxyAgent from 'undici/lib/dispatcher/proxy-agent.js';
import dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import apiConnect from 'undici/lib/api/api-connect.js';
import apiRequest from 'undici/lib/api/api-request.js';

export type { Dispatcher } from 'undici';

// The index puts its calls on every dispatcher; a proxy needs this one for its tunnels.
Object.assign((dispatcher as { readonly prototype: object }).prototype, {
  connect: apiConnect as unknown,
});

/** Connections to any origin. */
export const Agent = agent as typeof AgentClass;

/** Connections to any origin by way of a proxy. */
export const ProxyAgent = proxyAgent as typeof ProxyAgentClass;

/** Sends one request; redirects are not followed. */
export const request = (
  url: URL,
  { dispatcher: by, ...options }: RequestOptions,
): Promise<Dispatcher.ResponseData> =>
  (apiRequest as ApiRequest).call(by, {
    ...options,
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
  });

/** How a request is sent. */
export interface RequestOptions {
  readonly dispatcher: Dispatcher;
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: string | Buffer;
  readonly signal: AbortSignal;
}

type ApiRequest = (
  this: Dispatcher,
  options: Dispatcher.RequestOptions,
) => Promise<Dispatcher.ResponseData>;
