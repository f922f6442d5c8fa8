import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import {
  internalAddresses,
  readinessOf,
  taintsOf,
  cloudTaint,
  clusterHasCredentials,
  mayNeedUntaint,
  removesCloudTaint,
  serviceHasCredentials,
  untaintPatch,
} from './node.ts';

const reasonOf = (message: string, reason = 'KubeletNotReady'): string => {
  const readiness = readinessOf({
    metadata: { name: 'm1' },
    status: { conditions: [{ type: 'Ready', status: 'Unknown', reason, message }] },
  });
  return readiness.isReady ? 'Ready' : readiness.reason;
};

describe('the readiness of a node', () => {
  it('follows the Ready condition', () => {
    expect(readinessOf(nodeObject({ name: 'm1' }))).toEqual({ isReady: true });
  });

  it.each([
    [
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/.',
      'container network is not ready',
    ],
    [
      '[container runtime network not ready: NetworkReady=false, CSINode is not yet initialized]',
      'container network is not ready',
    ],
    [
      'PLEG is not healthy: pleg was last seen active 3m5.1s ago; threshold is 3m0s',
      'PLEG is not healthy',
    ],
    ['Kubelet stopped posting node status.', 'kubelet stopped posting status'],
    ['Kubelet never posted node status.', 'kubelet never posted status'],
    ['something new: at 12:03', 'something new'],
    ['', 'KubeletNotReady'],
  ])('shortens the message to a stable reason: %s', (message, reason) => {
    expect(reasonOf(message)).toBe(reason);
  });

  it('cuts a long reason and never leaves it empty', () => {
    expect(reasonOf('x'.repeat(500))).toHaveLength(100);
    expect(reasonOf('', '')).toBe('no reason given');
  });

  it.each([{}, { status: {} }, { status: { conditions: null } }, { status: { conditions: [] } }])(
    'is "no status yet" for a node with %j',
    (rest) => {
      const node = { metadata: { name: 'm1' }, ...rest };
      expect(readinessOf(node)).toEqual({ isReady: false, reason: 'no status yet' });
    },
  );
});

describe('the addresses and taints of a node', () => {
  it('returns the valid internal addresses in canonical form', () => {
    const node = nodeObject({ name: 'm1', addresses: ['10.0.0.1', 'FD00:0::1', 'junk'] });
    expect(internalAddresses(node)).toEqual(['10.0.0.1', 'fd00::1']);
  });

  it('returns the taints in order, or an empty list', () => {
    const node = nodeObject({ name: 'm1', taints: ['a', 'b'] });
    expect(taintsOf(node).map(({ key }) => key)).toEqual(['a', 'b']);
    expect(taintsOf({ metadata: { name: 'm1' } })).toEqual([]);
  });
});

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
