import { describe, expect, it } from 'vitest';
import { rest } from '../../../test/support/fake-host.ts';
import { bootcEntry, bootcOutput } from '../../../test/support/os-samples.ts';
import { coreOsNode, runOnNode } from '../../../test/support/core-os-node.ts';
import { applyRollback } from './apply.ts';

describe('node rollback', () => {
  it('drops a staged deployment without a reboot', async () => {
    const { host, world } = coreOsNode({ order: ['2', '1', '0'], booted: '1', staged: '2' });
    const { isRestarted } = await runOnNode(applyRollback, host, { reboots: true });
    expect(world).toMatchObject({ order: ['1', '0'], booted: '1', staged: undefined });
    // The running system is booted next: a reboot would change nothing.
    expect(isRestarted).toBe(false);
  });

  it('puts the previous deployment first and reboots on request', async () => {
    const { host, world } = coreOsNode();
    const { isRestarted } = await runOnNode(applyRollback, host, { reboots: true });
    expect(world.order).toEqual(['0', '1']);
    expect(isRestarted).toBe(true);
    expect(host.ran.at(-1)).toEqual(['systemctl', 'reboot']);
  });

  it('is idempotent', async () => {
    const { world } = coreOsNode();
    await runOnNode(applyRollback, coreOsNode(world).host);
    await runOnNode(applyRollback, coreOsNode(world).host);
    expect(world.order).toEqual(['0', '1']);
  });

  it('fails on a host with one deployment', async () => {
    const { host } = coreOsNode({ order: ['1'], booted: '1' });
    await expect(runOnNode(applyRollback, host)).rejects.toMatchObject({
      code: 'os.nothing-to-roll-back',
    });
  });

  it('fails when the host would not boot the previous deployment next', async () => {
    const { host } = coreOsNode();
    host.on(['rpm-ostree', 'rollback']).succeeds();
    await expect(runOnNode(applyRollback, host)).rejects.toMatchObject({ code: 'os.not-staged' });
  });

  it('refuses to drop a composefs deployment', async () => {
    const { host } = coreOsNode();
    const staged = bootcEntry('2', { ostree: null, composefs: { verity: 'v' } });
    host
      .on(['bootc', 'status', rest])
      .prints(bootcOutput({ booted: bootcEntry('1'), rollback: bootcEntry('0'), staged }));
    await expect(runOnNode(applyRollback, host)).rejects.toMatchObject({
      code: 'os.drop-unsupported',
    });
  });
});
