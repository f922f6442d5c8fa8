import { describe, expect, it } from 'vitest';
import { controlPlaneOf, machineOf, type ShownHost } from '../../test/support/capi-world.ts';
import { type BootstrapConfig, type BootstrapConfigSpec, ownNames } from './api.ts';
import { hostsCheck, reportedOf } from './host-checks.ts';

interface Host extends ShownHost {
  readonly spec?: Partial<BootstrapConfigSpec>;
}

const configOf = (name: string, { spec }: Host): BootstrapConfig => ({
  metadata: { name },
  spec: { agent: { image: 'a' }, ...spec },
});

const checkOf = (hosts: readonly Host[], annotations = {}) => {
  const plane = controlPlaneOf();
  const named = hosts.map((host, at) => [`m${at}`, host] as const);
  return hostsCheck({
    controlPlane: { ...plane, metadata: { ...plane.metadata, annotations } },
    hosts: named.map(([name, host]) => ({
      machine: machineOf(name, host),
      config: configOf(name, host),
      isBootstrap: false,
      isDeleting: host.isDeleting === true,
      stage: '' as const,
    })),
  });
};

const one: Host = { reports: ['n0', '192.0.2.10'] };
const two: Host = { reports: ['n1', '192.0.2.11'] };
const registered = (name: string) => ({ nodeRegistration: { name } });
const long = `${'a'.repeat(60)}.example.com`;

describe('HostsValid', () => {
  it.each<[string, readonly Host[]]>([
    ['unique names', [one, two]],
    ['a shared address', [one, { reports: ['n1', '192.0.2.10'] }]],
    ['several spellings of one name', [{ reports: ['n0', 'N0', 'n0.example.com'] }]],
    ['localhost beside a name', [{ reports: ['localhost', 'n0'] }, two]],
    ['the name of a host that is being deleted', [one, { ...one, isDeleting: true }]],
    ['a long name beside a valid one', [{ reports: ['n0', long] }]],
    ['a long name that nodeRegistration replaces', [{ reports: [long], spec: registered('a') }]],
    [
      'unique names from nodeRegistration',
      [
        { reports: ['n0'], spec: registered('a') },
        { reports: ['n0'], spec: registered('b') },
      ],
    ],
    ['a name with _ beside a valid one', [{ reports: ['worker_1', 'n0'] }]],
    ['a name of 63 characters', [{ reports: ['a'.repeat(63)] }]],
  ])('is true with %s', (_, hosts) => {
    expect(checkOf(hosts)).toMatchObject({ status: 'True', reason: 'Valid' });
  });

  it.each([
    ['HostNameNotUnique', 'n0 is the name of m0, m2; give', [one, two, { reports: ['N0'] }]],
    [
      'HostNameNotUnique',
      'a is the name of m0, m1; give',
      [{ spec: registered('A') }, { reports: ['n1'], spec: registered('a') }],
    ],
    [
      'HostNameInvalid',
      `the name of m1 has more than 63 characters: ${long}; give`,
      [one, { reports: [long] }],
    ],
    [
      'HostNameInvalid',
      `the name of m0 has more than 63 characters: ${long}; give`,
      [{ reports: ['n0'], spec: registered(long) }],
    ],
    [
      'HostNameInvalid',
      'the name of m1 is no name of a node, which has letters, digits, - and .: master_1; give',
      [one, { reports: ['Master_1'] }],
    ],
    [
      'HostNameInvalid',
      'the name of m0 is no name of a node, which has letters, digits, - and .: a..b; give',
      [{ spec: registered('a..b') }],
    ],
  ])('is false: %s, %s', (...[reason, begin, hosts]) => {
    const { message = '', ...check } = checkOf(hosts);
    expect(check).toEqual({ status: 'False', reason });
    expect(message.slice(0, begin.length)).toBe(begin);
  });

  it.each<[string, string, readonly Host[], object?]>([
    ['WaitingForMachines', '', []],
    ['WaitingForMachines', '', [{ ...one, isDeleting: true }]],
    ['NotReported', 'no name is reported of m1', [one, {}]],
    ['NotReported', 'no name is reported of m0', [{ reports: ['localhost', '192.0.2.1'] }]],
    ['NotReported', 'no name is reported of m0', [{ reports: ['(none)'] }]],
    [
      'NotReported',
      'no name is reported of m0, m1',
      [
        { reports: ['n0'], spec: registered('$METADATA_NAME') },
        { reports: ['n0'], spec: registered('$METADATA_NAME') },
      ],
    ],
    [
      'Skipped',
      `by the annotation ${ownNames.skipHostChecks}`,
      [one, one],
      { [ownNames.skipHostChecks]: '' },
    ],
  ])('is unknown: %s, %s', (...[reason, message, hosts, annotations]) => {
    expect(checkOf(hosts, annotations)).toEqual({ status: 'Unknown', reason, message });
  });
});

it('reportedOf returns the names, and the addresses in canonical form', () => {
  const addresses = [
    { type: 'InternalDNS', address: 'n0.example.com' },
    { type: 'ExternalDNS', address: 'other' },
    { type: 'ExternalIP', address: '2001:DB8::0' },
    { type: 'InternalIP', address: '' },
  ];
  expect(reportedOf({ metadata: { name: 'm' }, status: { addresses } })).toEqual({
    names: ['n0.example.com'],
    addresses: ['2001:db8::'],
  });
  expect(reportedOf({ metadata: { name: 'm' } })).toEqual({ names: [], addresses: [] });
});
