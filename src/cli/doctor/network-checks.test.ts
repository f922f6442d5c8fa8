import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeObjects } from '../../../test/support/fake-objects.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { askCheck, type HostFinding, type NetworkScope } from './check.ts';
import { namesToResolve, networkChecks } from './network-checks.ts';

const service = { service: { url: 'https://service.example:6008' }, cluster: { id: 'c' } };

const later: Partial<HostFinding> = { state: 'warning', says: 'not yet: not in this status' };

it.each([
  ['the name of the service', service, ['service.example']],
  [
    'each name once',
    { ...service, image: { url: 'http://service.example/i' } },
    ['service.example'],
  ],
  [
    'no IP addresses',
    { service: { url: 'http://192.0.2.1' }, image: { url: 'http://[fd00::1]/i' } },
    [],
  ],
  [
    'the name of the proxy of the service',
    { ...service, proxy: { https: 'http://proxy.example:3128' } },
    ['proxy.example'],
  ],
  [
    'the name of a service that bypasses the proxy',
    { ...service, proxy: { https: 'http://proxy.example:3128', no: '.example' } },
    ['service.example'],
  ],
])('namesToResolve returns %s', (_, config, names) => {
  expect(namesToResolve(Config.parse(config))).toEqual(names);
});

/** Makes a check with a configuration. */
function checked(name: string, input: ConfigInput, given: Partial<NetworkScope>) {
  const config = Config.parse(input);
  const check = networkChecks(config).find((one) => one.name === name);
  if (check === undefined) throw new Error(`no check ${name}`);
  return askCheck(check, {
    clock: fakeClock(),
    host: fakeHost(),
    inventory: fakeInventory(),
    web: fakeWeb(),
    objects: fakeObjects(),
    config,
    signal: new AbortController().signal,
    hide: () => undefined,
    ...given,
  });
}

const bootstrap: ConfigInput = { role: 'bootstrap', images: { mco: 'quay.example/mco:1' } };
const getent = ['getent', 'ahosts', 'service.example'] as const;
const inspect = ['skopeo', 'inspect', rest] as const;
const addresses = '192.0.2.7 STREAM service.example\n192.0.2.7 DGRAM\nfd00::7 STREAM\n';

it.each([
  [
    'a name',
    service,
    'name service.example',
    fakeHost().on(getent).prints(addresses),
    { state: 'ok', says: '192.0.2.7, fd00::7' },
  ],
  [
    'a name that does not resolve',
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
    'an image that needs the pull secret of the Ignition config',
    bootstrap,
    'image quay.example/mco:1',
    fakeHost().on(inspect).fails(1, 'reading manifest: unauthorized: access denied'),
    { state: 'warning' },
  ],
  [
    'an image that does not exist',
    bootstrap,
    'image quay.example/mco:1',
    fakeHost().on(inspect).fails(1, 'manifest unknown'),
    { state: 'failed', code: 'command.failed' },
  ],
])('checks %s', async (...[, input, name, host, found]) => {
  const inventory = fakeInventory({ cluster: { id: 'c', kind: 'Cluster' } });
  expect(await checked(name, input, { host, inventory })).toMatchObject({ check: name, ...found });
});

const pointer = '{"ignition":{"version":"3.2.0"}}';
const url = 'http://web.example/worker.ign';
const s3 = { s3: { endpoint: 'http://store.example', bucket: 'b' }, cluster: { id: 'c' } };
const registries = { mirrors: [{ source: 'quay.io/o', mirrors: ['mirror.example.com/o'] }] };
const refusal = (code: 'inventory.refused' | 'inventory.not-ready' | 'inventory.denied') =>
  fakeInventory().failing('hostIgnition', inventoryFailure(code, 'not in this status'));

describe('the check of Ignition', () => {
  it.each([
    [
      'from the service',
      service,
      { inventory: fakeInventory({ ignition: pointer }) },
      {
        state: 'ok',
        says: 'spec 3.2.0 from https://service.example:6008 (service.url is set)',
      },
    ],
    [
      'that the service refuses in this status',
      service,
      { inventory: refusal('inventory.refused') },
      later,
    ],
    ['that is not ready yet', service, { inventory: refusal('inventory.not-ready') }, later],
    [
      'that the service denies',
      service,
      { inventory: refusal('inventory.denied') },
      { state: 'failed', code: 'inventory.denied' },
    ],
    ['from a URL', { ignition: { url } }, { web: fakeWeb().with(url, pointer) }, { state: 'ok' }],
    [
      'with another digest',
      { ignition: { url, sha256: 'a'.repeat(64) } },
      { web: fakeWeb().with(url, pointer) },
      { state: 'failed', code: 'ignition.wrong-digest' },
    ],
    [
      'from a file',
      { ignition: { file: '/h.ign' } },
      { host: fakeHost().withFile('/h.ign', pointer) },
      { state: 'ok', says: 'spec 3.2.0 from /h.ign (ignition.file is set)' },
    ],
    [
      'that conflicts with the registries of the settings',
      { ignition: { file: '/h.ign' }, registries },
      {
        host: fakeHost().withFile(
          '/h.ign',
          pointer.replace(
            '}}',
            '},"storage":{"links":[{"path":"/etc/containers","target":"/c"}]}}',
          ),
        ),
      },
      { state: 'failed', code: 'ignition.merge-invalid' },
    ],
    [
      'with registries of the settings',
      { ignition: { file: '/h.ign' }, registries },
      { host: fakeHost().withFile('/h.ign', pointer) },
      { state: 'ok' },
    ],
  ])('reports a config %s', async (...[, input, given, found]) => {
    expect(await checked('Ignition', input, given)).toMatchObject(found);
  });

  it('also checks bootstrap.ign for a bootstrap host', async () => {
    const namesOf = (input: ConfigInput) =>
      networkChecks(Config.parse(input)).flatMap(({ name }) => (/ign/i.test(name) ? [name] : []));
    expect(namesOf({ ...s3, role: 'bootstrap' })).toEqual(['Ignition', 'bootstrap.ign']);
    expect(namesOf({ ...s3, role: 'worker' })).toHaveLength(1);
    const objects = fakeObjects().with('b/c/bootstrap.ign', pointer);
    const found = await checked('bootstrap.ign', { ...s3, role: 'bootstrap' }, { objects });
    expect(found).toMatchObject({ state: 'failed', code: 'ignition.file-missing' });
  });
});

it('networkChecks has no checks for an empty configuration', () => {
  expect(networkChecks(Config.parse({}))).toEqual([]);
});
