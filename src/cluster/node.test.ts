import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import { internalAddresses, readinessOf, taintsOf } from './node.ts';

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
