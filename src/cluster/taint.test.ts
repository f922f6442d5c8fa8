import { describe, expect, it } from 'vitest';
import { nodeObject } from '../../test/support/cluster-objects.ts';
import { cloudTaint, hasCloudTaint, removesCloudTaint, untaintPatch } from './taint.ts';

describe('whether the taint of the cloud is removed', () => {
  it.each([
    ['nutanix', 'assisted-service', '4.15.0', false, true],
    ['vsphere', 'assisted-service', '4.15.0', true, true],
    ['none', 'assisted-service', '4.15.0', false, false],
    ['baremetal', 'agent-installer', '4.15.0', false, false],
    ['', 'agent-installer', '4.15.0', false, false],
    ['external', '', '4.15.0', false, false],
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
    'on %s, begun by %s, %s, credentials %s: %s',
    (...[platform, invoker, version, hasCredentials, isRemoved]) => {
      const facts = { platform, invoker, version, hasCredentials };
      expect(removesCloudTaint(facts)).toBe(isRemoved);
    },
  );
});

describe('the patch that removes it', () => {
  it('names the place and tests what stands there', () => {
    const node = nodeObject({ name: 'm1', taints: ['a', cloudTaint, 'b'] });
    expect(hasCloudTaint(node)).toBe(true);
    expect(untaintPatch(node)).toEqual({
      type: 'json',
      body: [
        { op: 'test', path: '/spec/taints/1', value: { key: cloudTaint, effect: 'NoSchedule' } },
        { op: 'remove', path: '/spec/taints/1' },
      ],
    });
  });

  it('is none for a node without it', () => {
    const node = nodeObject({ name: 'm1', taints: ['a'] });
    expect(hasCloudTaint(node)).toBe(false);
    expect(untaintPatch(node)).toBeUndefined();
  });
});
