import { describe, expect, it } from 'vitest';
import { isEnabled, WireCluster, WireClusterHosts, WireHosts } from './inventory-schema.ts';

describe('records of the service', () => {
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
  ])('the cluster %j', (wire, cluster) => {
    expect(WireCluster.parse(wire)).toEqual(cluster);
  });

  it.each([
    ['left out', undefined, []],
    ['empty', '', []],
    ['broken', '{', []],
    ['of another shape', '{"interfaces":1}', []],
    [
      'whole',
      '{"interfaces":[{"ipv4_addresses":["10.0.0.1/8"],"ipv6_addresses":null},{"name":"x"}]}',
      ['10.0.0.1'],
    ],
    [
      'in part no address',
      '{"interfaces":[{"ipv6_addresses":["FD00::0:1/64"],"ipv4_addresses":["x","10.0.0.1/8"]},{"ipv4_addresses":["10.0.0.2/8"]}]}',
      ['10.0.0.1', 'fd00::1', '10.0.0.2'],
    ],
  ])('a host whose inventory is %s', (_, inventory, addresses) => {
    expect(WireHosts.parse([{ id: 'h', inventory, progress: null }])).toEqual([
      { id: 'h', infraEnvId: '', name: '', role: '', status: '', addresses },
    ]);
  });

  it('no hosts', () => {
    expect(WireHosts.parse(null)).toEqual([]);
    expect(WireClusterHosts.parse({ hosts: null })).toEqual([]);
  });

  it('a host that was taken out is not enabled', () => {
    const [out, in_] = WireClusterHosts.parse({
      hosts: [
        { id: 'a', status: 'disabled' },
        { id: 'b', status: 'known' },
      ],
    });
    expect([out, in_].map((host) => host !== undefined && isEnabled(host))).toEqual([false, true]);
  });
});
