import { expect, it } from 'vitest';
import { clusterProxies } from './cluster-proxy.ts';

const environment = { http: 'http://own:1', https: '', no: '.own' };
const metadata = { name: 'cluster' };

it.each([
  ['no Proxy object', undefined, environment],
  ['no status', { metadata }, environment],
  ['an empty status', { metadata, status: {} }, environment],
  [
    'some fields set',
    { metadata, status: { httpsProxy: 'http://p:2', noProxy: '.svc,10.0.0.0/16' } },
    { http: 'http://own:1', https: 'http://p:2', no: '.svc,10.0.0.0/16' },
  ],
  [
    'a field that is not text',
    { metadata, status: { httpProxy: 7, noProxy: '.svc' } },
    { http: 'http://own:1', https: '', no: '.svc' },
  ],
])('reads the proxies of a cluster with %s', (_, proxy, expected) => {
  expect(clusterProxies(proxy, environment)).toEqual(expected);
});
