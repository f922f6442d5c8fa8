import { describe, expect, it } from 'vitest';
import { controlPlaneOf } from '../../test/support/capi-world.ts';
import { type BootstrapConfig, type BootstrapConfigSpec, type Machine, ownNames } from './api.ts';
import { givenName, hostsCondition, reportedOf } from './host-checks.ts';

/** Hostname and addresses by their looks, as an infrastructure reports them. */
interface Host {
  readonly reports?: readonly string[];
  readonly spec?: Partial<BootstrapConfigSpec>;
  readonly isDeleting?: true;
}

const machineOf = (name: string, { reports = [], isDeleting }: Host): Machine => ({
  metadata: { name, ...(isDeleting && { deletionTimestamp: '2026-11-27T00:00:00Z' }) },
  spec: {
    ...{ clusterName: 'demo', bootstrap: { configRef: { apiGroup: '', kind: '', name } } },
    infrastructureRef: { apiGroup: '', kind: '', name },
  },
  status: {
    addresses: reports.map((address) => ({
      type: /^[\d.]+$|:/.test(address) ? 'InternalIP' : 'Hostname',
      address,
    })),
  },
});

const configOf = (name: string, { spec }: Host): BootstrapConfig => ({
  metadata: { name },
  spec: { agent: { image: 'a' }, ...spec },
});

const conditionOf = (hosts: readonly Host[], networks = '', annotations = {}) => {
  const plane = controlPlaneOf();
  const named = hosts.map((host, at) => [`m${at}`, host] as const);
  return hostsCondition({
    controlPlane: { ...plane, metadata: { ...plane.metadata, annotations } },
    machines: named.map(([name, host]) => machineOf(name, host)),
    configs: new Map(named.map(([name, host]) => [name, configOf(name, host)])),
    assets: {
      metadata: {
        name: 'a',
        annotations: networks === '' ? {} : { [ownNames.machineNetworks]: networks },
      },
    },
  });
};

const one: Host = { reports: ['n0', '192.0.2.10'] };
const two: Host = { reports: ['n1', '192.0.2.11'] };
const network = '192.0.2.0/24';
const registered = (name: string) => ({ nodeRegistration: { name } });
const keyfiles = { networkSecretRef: { name: 'keyfiles' } };

describe('HostsValid', () => {
  it.each<[string, readonly Host[], string?]>([
    ['names and addresses of their own', [one, two]],
    ['addresses in the network of machines', [one, two], network],
    ['one of several addresses there', [{ reports: ['n0', '203.0.113.1', '192.0.2.1'] }], network],
    ['one of several networks', [one, two], `203.0.113.0/24,${network}`],
    ['a network of another family', [one, two], '2001:db8::/64'],
    ['a network that nobody can read', [one, two], '192.0.2.0/99,all'],
    ['names alone', [{ reports: ['n0'] }, { reports: ['n1'] }], network],
    ['addresses alone', [{ reports: ['192.0.2.1'] }, { reports: ['192.0.2.2'] }]],
    ['names by which one is known twice', [{ reports: ['n0', 'N0', 'n0.example.com'] }]],
    ['a name from before its system has one', [{ reports: ['localhost', '192.0.2.1'] }, two]],
    [
      'the same from several systems',
      [
        { reports: ['localhost.localdomain', '192.0.2.1'] },
        { reports: ['localhost.localdomain', '192.0.2.2'] },
      ],
    ],
    [
      'a link-local address in each',
      [
        { reports: ['n0', '169.254.0.2', 'fe80::1'] },
        { reports: ['n1', '169.254.0.2', 'FE80::1%ens3'] },
      ],
    ],
    [
      'an address of a private link in each',
      [
        { reports: ['n0', '192.0.2.1', '203.0.113.2'] },
        { reports: ['n1', '192.0.2.2', '203.0.113.2'] },
      ],
      network,
    ],
    ['a name of one that is going', [one, { ...one, isDeleting: true }]],
    [
      'names of their own by their configs',
      [
        { reports: ['n0'], spec: registered('a') },
        { reports: ['n0'], spec: registered('b') },
      ],
    ],
    ['addresses that keyfiles replace', [one, { reports: ['n1', '192.0.2.10'], spec: keyfiles }]],
    ['others that keyfiles replace', [{ reports: ['n0', '10.0.0.1'], spec: keyfiles }], network],
  ])('is true with %s', (_, hosts, networks) => {
    expect(conditionOf(hosts, networks)).toEqual({
      ...{ type: 'HostsValid', status: 'True', reason: 'Valid' },
    });
  });

  it.each<[string, string, readonly Host[], string?]>([
    ['HostNameNotUnique', 'n0 is the name of m0, m2; give', [one, two, { reports: ['N0'] }]],
    [
      'HostNameNotUnique',
      'a is the name of m0, m1; give',
      [{ spec: registered('A') }, { reports: ['n1'], spec: registered('a') }],
    ],
    [
      'HostNameInvalid',
      'localhost is the name of m1; give',
      [one, { reports: ['n1'], spec: registered('Localhost.localdomain') }],
    ],
    [
      'AddressNotUnique',
      '192.0.2.10 is the address of m0, m1; give',
      [one, { reports: ['n1', '192.0.2.10'] }],
    ],
    [
      'AddressNotUnique',
      '2001:db8::1 is the address of m0, m1; give',
      [{ reports: ['2001:db8::1'] }, { reports: ['2001:DB8:0::1'] }],
    ],
    [
      'OutsideMachineNetwork',
      `m1: no address is in the machine networks ${network}; give`,
      [one, { reports: ['n1', '203.0.113.1', '2001:db8::1'] }],
      network,
    ],
    [
      'OutsideMachineNetwork',
      'm0: no address is in the machine networks 2001:db8::/64; give',
      [{ reports: ['2001:db8:1::1'] }],
      '2001:db8::/64',
    ],
  ])('is false: %s, %s', (...[reason, begin, hosts, networks]) => {
    const { message = '', ...condition } = conditionOf(hosts, networks);
    expect(condition).toEqual({ type: 'HostsValid', status: 'False', reason });
    expect(message.slice(0, begin.length)).toBe(begin);
  });

  it.each<[string, string, readonly Host[], object?]>([
    ['WaitingForMachines', '', []],
    ['WaitingForMachines', '', [{ ...one, isDeleting: true }]],
    ['NotReported', 'no name and no address is reported of m1', [one, {}]],
    ['NotReported', 'no name and no address is reported of m0', [{ reports: ['localhost'] }]],
    [
      'NotReported',
      'no name and no address is reported of m0, m1',
      [
        { reports: ['n0'], spec: registered('$METADATA_NAME') },
        { reports: ['n0'], spec: registered('$METADATA_NAME') },
      ],
    ],
    [
      'Skipped',
      `by the annotation ${ownNames.skipHostChecks}`,
      [one, one],
      {
        [ownNames.skipHostChecks]: '',
      },
    ],
  ])('is unknown: %s, %s', (...[reason, message, hosts, annotations]) => {
    expect(conditionOf(hosts, undefined, annotations)).toEqual({
      ...{ type: 'HostsValid', status: 'Unknown', reason, message },
    });
  });
});

describe('a host', () => {
  it('is reported with names, and with addresses in their one spelling', () => {
    const addresses = [
      { type: 'InternalDNS', address: 'n0.example.com' },
      { type: 'ExternalDNS', address: 'other' },
      { type: 'ExternalIP', address: '2001:DB8::0' },
      { type: 'InternalIP', address: '' },
    ];
    expect(reportedOf({ metadata: { name: 'm' }, status: { addresses } })).toEqual({
      ...{ names: ['n0.example.com'], addresses: ['2001:db8::'] },
    });
    expect(reportedOf({ metadata: { name: 'm' } })).toEqual({ names: [], addresses: [] });
  });

  it.each([
    [undefined, undefined],
    ['', undefined],
    ['node-$METADATA_NAME', undefined],
    ['n0', 'n0'],
  ])('is named by its config: %s', (name, given) => {
    const nodeRegistration = name === undefined ? {} : { nodeRegistration: { name } };
    expect(givenName({ spec: { agent: { image: 'a' }, ...nodeRegistration } })).toBe(given);
  });
});
