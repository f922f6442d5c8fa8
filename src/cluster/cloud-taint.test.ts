import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import {
  cloudTaint,
  clusterHasCredentials,
  mayNeedUntaint,
  removesCloudTaint,
  serviceHasCredentials,
  untaintPatch,
} from './cloud-taint.ts';

describe('removal of the cloud provider taint', () => {
  it.each([
    ['nutanix', 'assisted-service', '4.15.0', false, true],
    ['vsphere', 'assisted-service', '4.15.0', true, true],
    ['vsphere', 'agent-installer', '4.14.0-rc0', false, true],
    ['vsphere', 'agent-installer', '4.15.0', false, true],
    ['vsphere', 'agent-installer', '4.14.0', true, true],
    ['vsphere', 'agent-installer', '4.15', true, false],
    ['vsphere', 'agent-installer', '4.15.0-rc.3', true, false],
    ['vsphere', 'agent-installer', '5.0.0', true, false],
    ['nutanix', 'agent-installer', '4.16.0', true, true],
    ['vsphere', 'agent-installer', 'latest', true, true],
    ['vsphere', 'agent-installer', '', true, true],
  ])(
    'on %s, invoked by %s, version %s, credentials %s: %s',
    (...[platform, invoker, version, hasCredentials, isRemoved]) => {
      const facts = { platform, invoker, version };
      expect(removesCloudTaint(facts, () => hasCredentials)).toBe(isRemoved);
    },
  );

  it.each(['none', 'baremetal', '', 'external'])('never happens on platform "%s"', (platform) => {
    expect(mayNeedUntaint(platform)).toBe(false);
  });
});

describe('untaintPatch', () => {
  it('removes the taint by index and tests the node UID and the taint first', () => {
    const node = nodeObject({ name: 'm1', taints: ['a', cloudTaint, 'b'] });
    expect(untaintPatch(node)).toEqual({
      type: 'json',
      body: [
        { op: 'test', path: '/metadata/uid', value: undefined },
        { op: 'test', path: '/spec/taints/1', value: { key: cloudTaint, effect: 'NoSchedule' } },
        { op: 'remove', path: '/spec/taints/1' },
      ],
    });
  });

  it('returns undefined for a node without the taint', () => {
    const node = nodeObject({ name: 'm1', taints: ['a'] });
    expect(untaintPatch(node)).toBeUndefined();
  });
});

const real = { user: 'u', password: 'p', server: 's' };
const overrides = (vsphere: unknown): string => JSON.stringify({ platform: { vsphere } });
const withVcenter = (vcenter: object): string => overrides({ vcenters: [vcenter] });

describe('serviceHasCredentials', () => {
  it.each([
    ['real credentials', 'vsphere', withVcenter(real), true],
    ['an incomplete second vCenter', 'vsphere', overrides({ vcenters: [real, {}] }), true],
    ['old fields', 'vsphere', overrides({ vCenter: 's', username: 'u', password: 'p' }), false],
    ['a placeholder user', 'vsphere', withVcenter({ ...real, user: 'usernameplaceholder' }), false],
    [
      'a placeholder password',
      'vsphere',
      withVcenter({ ...real, password: 'passwordplaceholder' }),
      false,
    ],
    [
      'a placeholder server',
      'vsphere',
      withVcenter({ ...real, server: 'vcenterplaceholder' }),
      false,
    ],
    ['an empty server', 'vsphere', withVcenter({ ...real, server: '' }), false],
    ['a missing user', 'vsphere', withVcenter({ password: 'p', server: 's' }), false],
    ['no vCenter', 'vsphere', overrides({ vcenters: [] }), false],
    ['no overrides', 'vsphere', '', false],
    ['overrides that are not JSON', 'vsphere', '{', false],
    ['another platform', 'nutanix', withVcenter(real), false],
  ])('with %s', (...[, platformType, installConfigOverrides, has]) => {
    const cluster = { id: 'c', kind: 'Cluster', platformType, installConfigOverrides };
    expect(serviceHasCredentials(cluster)).toBe(has);
  });

  it('is false when the service names no platform', () => {
    expect(serviceHasCredentials({ id: 'c', kind: 'Cluster' })).toBe(false);
  });
});

it.each([
  ['a real server', { vcenterServer: 's' }, true],
  ['the placeholder', { vcenterServer: 'vcenterplaceholder' }, false],
  ['an empty server', { vcenterServer: '' }, false],
  ['no server', {}, false],
])('clusterHasCredentials for an install-config with %s', (_, vsphere, has) => {
  const config = {
    controlPlaneReplicas: 3,
    arbiterReplicas: 0,
    platform: 'vsphere',
    ...vsphere,
  };
  expect(clusterHasCredentials(config)).toBe(has);
});
