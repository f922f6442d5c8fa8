export { fetchHost } from './fetch-host.ts';
