import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readAnswer } from './inventory-answer.ts';
import { inventoryAddress, type Records } from './inventory-schema.ts';

/** Reads a record that arrives in pieces. */
const read = <Name extends keyof Records>(name: Name, value: unknown): Promise<Records[Name]> =>
  readAnswer(
    Readable.from((JSON.stringify(value).match(/.{1,7}/gs) ?? []).map((part) => Buffer.from(part))),
    name,
    { url: 'http://a.example.com', last: new Map() },
  );

describe('readAnswer', () => {
  it.each([
    [{ id: 'c' }, { id: 'c', kind: 'Cluster' }],
    [
      { id: 'c', kind: 'AddHostsCluster', hosts: null },
      { id: 'c', kind: 'AddHostsCluster' },
    ],
    [
      { id: 'c', platform: { type: 'vsphere' }, install_config_overrides: '{}' },
      { id: 'c', kind: 'Cluster', platformType: 'vsphere', installConfigOverrides: '{}' },
    ],
    [
      { id: 'c', platform: null, install_config_overrides: '' },
      { id: 'c', kind: 'Cluster' },
    ],
  ])('reads the cluster %j', async (wire, cluster) => {
    expect(await read('cluster', wire)).toEqual(cluster);
  });

  it.each([
    ['missing', undefined, []],
    ['empty', '', []],
    ['invalid JSON', '{', []],
    ['of an unexpected type', '{"interfaces":1}', []],
    [
      'complete',
      '{"interfaces":[{"ipv4_addresses":["10.0.0.1/8"],"ipv6_addresses":null},{"name":"x"}]}',
      ['10.0.0.1'],
    ],
    [
      'partly invalid',
      '{"interfaces":[{"ipv6_addresses":["FD00::0:1/64"],"ipv4_addresses":["x","10.0.0.1/8"]},{"ipv4_addresses":["10.0.0.2/8"]}]}',
      ['10.0.0.1', 'fd00::1', '10.0.0.2'],
    ],
  ])('reads a host with an inventory that is %s', async (_, inventory, addresses) => {
    expect(await read('hosts', [{ id: 'h', inventory, progress: null }])).toEqual([
      { id: 'h', infraEnvId: '', name: '', role: '', status: '', addresses },
    ]);
  });

  it('reads null as an empty list of hosts', async () => {
    expect(await read('hosts', null)).toEqual([]);
    expect(await read('clusterHosts', { hosts: null })).toEqual([]);
  });
});

describe('readAnswer for the controller', () => {
  it.each([
    [undefined, {}],
    ['', {}],
    ['{"a/b":"c","d":""}', { 'a/b': 'c', d: '' }],
    ['{', {}],
    ['["a"]', {}],
    ['{"a":1}', {}],
    ['null', {}],
  ])('reads the node labels %j', async (node_labels, labels) => {
    const hosts = [{ id: 'h', node_labels, machine_config_pool_name: 'infra' }];
    expect(await read('installingCluster', { id: 'c', status: 'installing', hosts })).toMatchObject(
      {
        hosts: [{ labels, pool: 'infra' }],
      },
    );
  });

  it.each([
    [undefined, undefined],
    [{ total_percentage: 80 }, undefined],
    [{ finalizing_stage: 'Done' }, { stage: 'Done', isTimedOut: false }],
    [
      { finalizing_stage: 'Done', finalizing_stage_timed_out: true },
      { stage: 'Done', isTimedOut: true },
    ],
    [
      { finalizing_stage: 'Done', finalizing_stage_started_at: '2026-11-24T01:00:00.000Z' },
      { stage: 'Done', isTimedOut: false, startedAt: Date.UTC(2026, 10, 24, 1) },
    ],
    [
      { finalizing_stage: 'Done', finalizing_stage_started_at: '0001-01-01T00:00:00.000Z' },
      { stage: 'Done', isTimedOut: false },
    ],
  ])('reads a cluster with the progress %j', async (progress, finalizing) => {
    const text = { id: 'c', status: 'x', status_info: 'why', progress, hosts: null };
    const cluster = await read('installingCluster', text);
    const unset = { name: '', baseDomain: '', hosts: [] };
    const expected = { id: 'c', kind: 'Cluster', status: 'x', statusInfo: 'why', finalizing };
    expect(cluster).toEqual({ ...unset, ...expected });
  });

  it('reads operators with missing members and refuses one without a name', async () => {
    expect(await read('operators', null)).toEqual([]);
    expect(await read('operators', [{ name: 'cvo', status: null }])).toMatchObject([
      { name: 'cvo', type: '', status: '', statusInfo: '' },
    ]);
    expect(await read('operators', [{ name: 'cvo', status: 'degraded' }])).toMatchObject([
      { name: 'cvo', status: '' },
    ]);
    await expect(read('operators', [{ status: 'failed' }])).rejects.toMatchObject({
      code: 'inventory.unreadable',
    });
  });
});

it.each([
  ['192.168.126.10/24', '192.168.126.10'],
  ['2001:DB8:0:0:1::0001/64', '2001:db8::1:0:0:1'],
  ['::ffff:10.0.0.5/96', '10.0.0.5'],
  ['fe80::1%eth0/64', undefined],
  ['10.0.0.5/x', undefined],
  ['', undefined],
  ['dhcp', undefined],
])('inventoryAddress normalizes %j to %s', (given, expected) => {
  expect(inventoryAddress(given)).toBe(expected);
});
