import { expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { askCheck, type HostFinding } from './check.ts';
import { namesToResolve, networkChecks } from './network-checks.ts';

const service = { service: { url: 'https://service.example:6008' }, cluster: { id: 'c' } };

it.each<[string, ConfigInput, readonly string[]]>([
  ['of the service', service, ['service.example']],
  ['each once', { ...service, image: { url: 'http://service.example/i' } }, ['service.example']],
  [
    'no address',
    { service: { url: 'http://192.0.2.1' }, image: { url: 'http://[fd00::1]/i' } },
    [],
  ],
  [
    'of its proxy',
    { ...service, proxy: { https: 'http://proxy.example:3128' } },
    ['proxy.example'],
  ],
  [
    'itself where it needs no proxy',
    { ...service, proxy: { https: 'http://proxy.example:3128', no: '.example' } },
    ['service.example'],
  ],
])('looks up the name %s', (_, config, names) => {
  expect(namesToResolve(Config.parse(config))).toEqual(names);
});

const bootstrap: ConfigInput = { role: 'bootstrap', images: { mco: 'quay.example/mco:1' } };
const getent = ['getent', 'ahosts', 'service.example'] as const;
const inspect = ['skopeo', 'inspect', rest] as const;
const addresses = '192.0.2.7 STREAM service.example\n192.0.2.7 DGRAM\nfd00::7 STREAM\n';

it.each<[string, ConfigInput, string, ReturnType<typeof fakeHost>, Partial<HostFinding>]>([
  [
    'a name',
    service,
    'name service.example',
    fakeHost().on(getent).prints(addresses),
    { state: 'ok', says: '192.0.2.7, fd00::7' },
  ],
  [
    'a name that is unknown',
    service,
    'name service.example',
    fakeHost().on(getent).fails(2),
    { state: 'failed', says: 'does not resolve on this host' },
  ],
  ['the service', service, 'service', fakeHost(), { state: 'ok', says: 'knows the cluster c' }],
  [
    'an image',
    bootstrap,
    'image quay.example/mco:1',
    fakeHost().on(inspect).prints('{}'),
    { state: 'ok' },
  ],
  [
    'an image for which the Ignition has the secret',
    bootstrap,
    'image quay.example/mco:1',
    fakeHost().on(inspect).fails(1, 'reading manifest: unauthorized: access denied'),
    { state: 'warning' },
  ],
  [
    'an image that is not there',
    bootstrap,
    'image quay.example/mco:1',
    fakeHost().on(inspect).fails(1, 'manifest unknown'),
    { state: 'failed', code: 'command.failed' },
  ],
])('checks %s', async (...[, input, name, host, found]) => {
  const config = Config.parse(input);
  const check = networkChecks(config).find((one) => one.name === name);
  if (check === undefined) throw new Error(`no check ${name}`);
  const inventory = fakeInventory({ cluster: { id: 'c', kind: 'Cluster' } });
  const scope = { host, inventory, config, signal: new AbortController().signal };
  expect(await askCheck(check, scope)).toMatchObject({ check: name, ...found });
});

it('asks nothing of a network that the configuration does not name', () => {
  expect(networkChecks(Config.parse({}))).toEqual([]);
});
