export { fetchHost } from './fetch-host.ts';
export { mergeSingleNode } from './merge-single-node.ts';
