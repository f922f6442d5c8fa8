// No setting that holds a URL may show its password or its query.
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { proxyEnv, revealedProxies } from '../lib/proxies.ts';
import { checkConfig, fingerprintOf, settingIn } from './load.ts';
import type { Config } from './schema.ts';
import { settingKeys, settingKinds } from './settings.ts';
import { renderConfigJson, renderConfigText } from './show.ts';

const address = 'https://planted-user:planted-word@host.example:8443/path?planted=signature';
const addresses = settingKeys.filter((key) => ['url', 'place'].includes(settingKinds[key].kind));
const load = (key: (typeof settingKeys)[number], value = address) =>
  checkConfig([new Map([[key, { value, origin: 'a test' }]])]);

/** All ways to turn a configuration into text without revealing its secrets. */
const texts: readonly ((config: Config, value: unknown) => string)[] = [
  (config) => JSON.stringify(config),
  (config) => inspect(config, { depth: 9, showHidden: true }),
  (_, value) => String(value),
  (_, value) => '> '.concat(value as string),
  (_, value) => JSON.stringify({ ...(value as object) }),
  (_, value) => Object.entries(value as object).join(),
];

describe.each(addresses)('%s', (key) => {
  it('does not show its password and its query', () => {
    const loaded = load(key);
    const { config } = loaded;
    for (const text of texts) expect(text(config, settingIn(config, key))).not.toContain('planted');
    for (const render of [renderConfigText, renderConfigJson]) {
      expect(render(loaded)).toContain('https://***@host.example:8443/path?***');
      expect(render(loaded)).not.toContain('planted');
    }
    expect(JSON.stringify(config)).toContain('https://host.example:8443/path');
  });

  it('changes the fingerprint unless it is a proxy', () => {
    const other = fingerprintOf(load(key, address.replace('/path', '/other')).config);
    expect(fingerprintOf(load(key).config) === other).toBe(key.startsWith('proxy.'));
  });
});

it('these are all settings that hold a URL', () => {
  expect(addresses).toEqual([
    ...['service.url', 'image.url', 'image.stream', 'ignition.url', 's3.endpoint'],
    ...['proxy.http', 'proxy.https'],
  ]);
});

it('a proxy keeps its password in the environment of commands', () => {
  const { proxy } = load('proxy.https').config;
  expect(proxyEnv(revealedProxies(proxy))).toMatchObject({ https_proxy: address });
});
