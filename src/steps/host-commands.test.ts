import { expect, it } from 'vitest';
import { Config, type ConfigInput } from '../config/schema.ts';
import { proxyEnv, revealedProxies } from '../lib/proxies.ts';

it.each<[string, NonNullable<ConfigInput['proxy']>, Record<string, string>]>([
  ['nothing without a proxy', { no: '.svc' }, {}],
  [
    'both cases, and never a proxy for the machine itself',
    { http: 'http://p.example', no: '.svc' },
    {
      http_proxy: 'http://p.example',
      HTTP_PROXY: 'http://p.example',
      no_proxy: '.svc,127.0.0.1,localhost',
      NO_PROXY: '.svc,127.0.0.1,localhost',
    },
  ],
  [
    'a star alone, as curl knows it',
    { https: 'http://p.example', no: '.svc, *' },
    {
      https_proxy: 'http://p.example',
      HTTPS_PROXY: 'http://p.example',
      no_proxy: '*',
      NO_PROXY: '*',
    },
  ],
])('commands of the host get %s', (_, proxy, expected) => {
  expect(proxyEnv(revealedProxies(Config.parse({ proxy }).proxy))).toEqual(expected);
});
