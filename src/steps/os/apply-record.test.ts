import { describe, expect, it } from 'vitest';
import { operatorsNode, rebase } from '../../../test/support/applied-node.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { imageOf } from '../../../test/support/os-samples.ts';
import { type NodeWorld, runOnNode } from '../../../test/support/core-os-node.ts';
import { applyImage } from './apply.ts';

/** The file that the Machine Config Daemon reads. */
const record = '/etc/machine-config-daemon/currentimage';

describe('the record of node apply', () => {
  const recording = { records: true } as const;

  it.each<[string, NodeWorld]>([
    ['is staged by this run', { order: ['1', '0'], booted: '1' }],
    ['is already staged', { order: ['2', '1'], booted: '1', staged: '2' }],
    ['is booted', { order: ['2', '1'], booted: '2' }],
  ])('is written when the image %s', async (_, world) => {
    const { host } = operatorsNode(world);
    const { notes } = await runOnNode(applyImage, host, recording);
    expect(host.textOf(record)).toBe(imageOf('2'));
    expect(host.files.get(record)?.mode).toBe(0o644);
    expect(notes.filter((note) => note.startsWith('warn'))).toEqual([]);
  });

  it.each<[string, string]>([
    ['is not changed without a request', imageOf('1')],
    ['is not rewritten', imageOf('2')],
  ])('%s', async (_, text) => {
    const { host } = operatorsNode();
    host.withFile(record, text, 0o600);
    await runOnNode(applyImage, host, { records: text === imageOf('2') });
    expect(host.textOf(record)).toBe(text);
    expect(host.files.get(record)?.mode).toBe(0o600);
  });

  it('replaces a record that differs in a byte', async () => {
    const { host } = operatorsNode();
    host.withFile(record, `${imageOf('2')}\n`);
    await runOnNode(applyImage, host, recording);
    expect(host.textOf(record)).toBe(imageOf('2'));
  });

  it('is written before the host reboots', async () => {
    const { host } = operatorsNode();
    let found: string | undefined;
    host.on(['systemctl', 'reboot']).answers(() => {
      found = host.textOf(record);
    });
    const { isRestarted } = await runOnNode(applyImage, host, { ...recording, reboots: true });
    expect([isRestarted, found]).toEqual([true, imageOf('2')]);
  });

  it.each<[string, (host: FakeHost) => unknown]>([
    [
      'os.not-operators',
      (host) => host.on(['test', '-e', '/etc/machine-config-daemon/currentconfig']).fails(1),
    ],
    ['os.not-staged', (host) => host.on(rebase).succeeds()],
    ['os.image-unreachable', (host) => host.on(['skopeo', rest]).fails(1, 'manifest unknown')],
  ])('is not written when the run fails with %s', async (code, prepare) => {
    const { host, world } = operatorsNode();
    prepare(host);
    await expect(runOnNode(applyImage, host, recording)).rejects.toMatchObject({ code });
    expect(host.textOf(record)).toBeUndefined();
    expect(world.staged).toBeUndefined();
  });

  it('is refused when the next boot uses a deployment with its own /etc', async () => {
    const { host } = operatorsNode({ order: ['2', '1'], booted: '1' });
    await expect(runOnNode(applyImage, host, recording)).rejects.toMatchObject({
      code: 'os.record-lost',
    });
    expect(host.textOf(record)).toBeUndefined();
  });

  it('is consistent after a crash before any command, and complete after the next run', async () => {
    const order = { ...recording, reboots: true } as const;
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
