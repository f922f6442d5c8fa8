import { expect, it } from 'vitest';
import { Config, type ConfigInput } from '../config/schema.ts';
import { proxyEnv, revealedProxies } from '../lib/proxies.ts';

it.each<[string, NonNullable<ConfigInput['proxy']>, Record<string, string>]>([
  ['no variables without a proxy', { no: '.svc' }, {}],
  [
    'variables in both cases, without a proxy for localhost',
    { http: 'http://p.example', no: '.svc' },
    {
      http_proxy: 'http://p.example',
      HTTP_PROXY: 'http://p.example',
      no_proxy: '.svc,127.0.0.1,localhost',
      NO_PROXY: '.svc,127.0.0.1,localhost',
    },
  ],
  [
    'a list with commas alone, as Go splits at nothing else',
    { http: 'http://p.example', no: '.svc 10.0.0.0/8,\n , api.example\t' },
    {
      http_proxy: 'http://p.example',
      HTTP_PROXY: 'http://p.example',
      no_proxy: '.svc,10.0.0.0/8,api.example,127.0.0.1,localhost',
      NO_PROXY: '.svc,10.0.0.0/8,api.example,127.0.0.1,localhost',
    },
  ],
  [
    'exceptions in the form that Go reads',
    { http: 'http://p:1', no: '[fd00::5],[fd00::]/8,[fd00::5]:6443,example.com.,.' },
    {
      http_proxy: 'http://p:1',
      no_proxy: 'fd00::5,fd00::/8,[fd00::5]:6443,example.com,.,127.0.0.1,localhost',
      HTTP_PROXY: 'http://p:1',
      NO_PROXY: 'fd00::5,fd00::/8,[fd00::5]:6443,example.com,.,127.0.0.1,localhost',
    },
  ],
  [
    'only a star in no_proxy, as curl expects',
    { https: 'http://p.example', no: '.svc *' },
    {
      https_proxy: 'http://p.example',
      HTTPS_PROXY: 'http://p.example',
      no_proxy: '*',
      NO_PROXY: '*',
    },
  ],
])('proxyEnv returns %s', (_, proxy, expected) => {
  expect(proxyEnv(revealedProxies(Config.parse({ proxy }).proxy))).toEqual(expected);
});
