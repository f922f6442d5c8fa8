import { describe, expect, it } from 'vitest';
import { operatorsNode, rebase } from '../../../test/support/applied-node.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import { type NodeWorld, runOnNode } from '../../../test/support/core-os-node.ts';
import { applyImage } from './apply.ts';

/** The file that the Machine Config Daemon reads. */
const record = '/etc/machine-config-daemon/currentimage';

describe('the record of node apply', () => {
  const asked = { records: true } as const;

  it.each<[string, NodeWorld]>([
    ['is staged by this run', { order: ['1', '0'], booted: '1' }],
    ['was staged before', { order: ['2', '1'], booted: '1', staged: '2' }],
    ['runs', { order: ['2', '1'], booted: '2' }],
  ])('is written when the image %s', async (_, world) => {
    const { host } = operatorsNode(world);
    const { notes } = await runOnNode(applyImage, host, asked);
    expect(host.textOf(record)).toBe(imageOf('2'));
    expect(host.files.get(record)?.mode).toBe(0o644);
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
  });

  it.each<[string, string]>([
    ['is left out where none is asked for', imageOf('1')],
    ['is not written again', imageOf('2')],
  ])('%s', async (_, text) => {
    const { host } = operatorsNode();
    host.withFile(record, text, 0o600);
    await runOnNode(applyImage, host, { records: text === imageOf('2') });
    expect(host.textOf(record)).toBe(text);
    expect(host.files.get(record)?.mode).toBe(0o600);
  });

  it('takes the place of one that is not the same byte for byte', async () => {
    const { host } = operatorsNode();
    host.withFile(record, `${imageOf('2')}\n`);
    await runOnNode(applyImage, host, asked);
    expect(host.textOf(record)).toBe(imageOf('2'));
  });

  it('is there before the host restarts', async () => {
    const { host } = operatorsNode();
    let found: string | undefined;
    host.on(['systemctl', 'reboot']).answers(() => {
      found = host.textOf(record);
    });
    const { isRestarted } = await runOnNode(applyImage, host, { ...asked, reboots: true });
    expect([isRestarted, found]).toEqual([true, imageOf('2')]);
  });

  it.each<[string, (host: FakeHost) => unknown]>([
    [
      'os.not-operators',
      (host) => host.on(['test', '-e', '/etc/machine-config-daemon/currentconfig']).fails(1),
    ],
    ['os.not-staged', (host) => host.on(rebase).succeeds()],
    ['os.image-unreachable', (host) => host.on(['skopeo', rest]).fails(1, 'manifest unknown')],
  ])('is not written when the run fails with %s', async (code, break_) => {
    const { host, world } = operatorsNode();
    break_(host);
    await expect(runOnNode(applyImage, host, asked)).rejects.toMatchObject({ code });
    expect(host.textOf(record)).toBeUndefined();
    expect(world.staged).toBeUndefined();
  });

  it('is refused where what is booted next has files of its own', async () => {
    const { host } = operatorsNode({ order: ['2', '1'], booted: '1' });
    await expect(runOnNode(applyImage, host, asked)).rejects.toMatchObject({
      code: 'os.record-lost',
    });
    expect(host.textOf(record)).toBeUndefined();
  });

  it('is the same when the run was stopped before any of its commands', async () => {
    const order = { ...asked, reboots: true } as const;
    const { host: whole } = operatorsNode();
    await runOnNode(applyImage, whole, order);
    for (let command = 0; command < whole.ran.length; command += 1) {
      const { host, world } = operatorsNode();
      host.diesAt(command);
      await expect(runOnNode(applyImage, host, order)).rejects.toMatchObject({
        code: 'command.stopped',
      });
      const left = host.textOf(record);
      // If the record exists, the host boots the image in it next.
      expect([undefined, world.staged === '2' ? imageOf('2') : undefined]).toContain(left);
      const again = operatorsNode(world);
      if (left !== undefined) again.host.withFile(record, left);
      await runOnNode(applyImage, again.host, order);
      expect(again.host.textOf(record)).toBe(imageOf('2'));
      expect(again.host.ran.at(-1)).toEqual(['systemctl', 'reboot']);
    }
  });
});
