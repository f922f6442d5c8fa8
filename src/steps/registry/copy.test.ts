import { describe, expect, it } from 'vitest';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { copyRegistry } from './copy.ts';

const disk = coreOsDisk('sda');
const facts = { disk: targetOf(disk), growth: { kind: 'grow', freePercent: 42 } } as const;
const script = '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';
const thaw = ['sh', '-c', 'fsfreeze --unfreeze /mnt/root || true'];
const rsync =
  'rsync -ah --info=progress2 /mnt/agentdata/ /mnt/root/ostree/deploy/rhcos/var/lib/iri-registry/';

function applianceHost() {
  const host = fakeHost()
    .withLink('/dev/disk/by-label/root', '/dev/sda4')
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(['test', rest])
    .fails(1);
  for (const program of [
    'mkdir',
    'mount',
    'umount',
    'sh',
    'bash',
    'growpart',
    'xfs_growfs',
    'fsfreeze',
  ]) {
    host.on([program, rest]).succeeds();
  }
  return host;
}

const after = (host: ReturnType<typeof fakeHost>) =>
  host.ran.filter(([program]) => program !== 'lsblk');

describe('registry/copy', () => {
  it('runs the commands of an appliance in their order', async () => {
    const host = applianceHost();
    await runStep(copyRegistry, { host, facts });
    expect(after(host)).toEqual([
      ['mkdir', '-p', '/mnt/root'],
      ['mount', '/dev/sda4', '/mnt/root'],
      thaw,
      ['test', '-d', '/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry'],
      ['test', '-d', '/run/ignition-ostree-transposefs/root'],
      ['umount', '/mnt/root'],
      ['growpart', '--free-percent=42', '/dev/sda', '4'],
      ['bash', '-c', `sed 's/threshold=[0-9]*/threshold=0/' ${script} | bash -s autosave-xfs`],
      ['bash', '-c', `${script} restore`],
      ['bash', '-c', `${script} cleanup`],
      ['mount', '/dev/sda4', '/mnt/root'],
      ['xfs_growfs', '/mnt/root'],
      ['mkdir', '-p', '/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry'],
      ['sh', '-c', rsync],
      ['fsfreeze', '--freeze', '/mnt/root'],
      ['umount', '/mnt/root'],
    ]);
  });

  it('tells how far rsync is', async () => {
    const host = applianceHost()
      .on(['sh', '-c', rsync])
      .prints(
        'list\n  1.00G   5%  85MB/s 0:01\r  0.9G   4%  85MB/s 0:02\r  20.00G 100%  85MB/s 0:04\n',
      );
    const { progress } = await runStep(copyRegistry, { host, facts });
    expect(progress.map(({ info }) => info)).toEqual(['5%', '100%']);
  });

  it.each([
    ['has seconds when the run is stopped', true, seconds(3)],
    ['has minutes when the copy fails', false, minutes(10)],
  ])('lets go of the disk: it %s', async (...[, isStopped, most]) => {
    const stop = new AbortController();
    const host = applianceHost();
    host.on(['sh', '-c', rsync]).answers(() => {
      if (isStopped) stop.abort(new Error('stopped'));
      return { exitCode: 23 };
    });
    await tryStep(copyRegistry, { host, facts, signal: stop.signal });
    const undo = host.calls.slice(-2);
    expect(undo.map(({ argv }) => argv)).toEqual([thaw, ['umount', '/mnt/root']]);
    expect(undo.reduce((sum, { limit }) => sum + limit, 0)).toBe(most);
  });

  it('first leaves what a killed run had mounted and frozen', async () => {
    const mounted = {
      ...disk,
      children: disk.children.map((child) =>
        child.path === '/dev/sda4' ? { ...child, mountpoints: ['/mnt/root'] } : child,
      ),
    };
    const host = applianceHost().on(['lsblk', rest]).prints(lsblkOutput(mounted));
    await runStep(copyRegistry, { host, facts });
    expect(after(host).slice(0, 3)).toEqual([
      ['fsfreeze', '--unfreeze', '/mnt/root'],
      ['umount', '/mnt/root'],
      ['mkdir', '-p', '/mnt/root'],
    ]);
  });

  it.each([
    [
      'growpart fails',
      applianceHost().on(['growpart', rest]).fails(1, 'FAILED'),
      'registry.not-grown',
    ],
    [
      'there is no root partition',
      applianceHost()
        .on(['lsblk', rest])
        .prints(lsblkOutput({ ...disk, children: [] })),
      'disk.no-partition',
    ],
  ])('fails when %s', async (_what, host, code) => {
    const { failure } = await tryStep(copyRegistry, { host, facts });
    expect(failure).toMatchObject({ code });
  });

  it('continues when the partition has been grown before', async () => {
    const host = applianceHost()
      .on(['growpart', rest])
      .fails(1, '', 'NOCHANGE: partition 4 is size 9. it cannot be grown');
    await runStep(copyRegistry, { host, facts });
    expect(host.ran.at(-1)).toEqual(['umount', '/mnt/root']);
  });

  it('is skipped without a registry on the medium', async () => {
    const host = fakeHost();
    const growth = { kind: 'none' } as const;
    const { events } = await runStep(copyRegistry, { host, facts: { ...facts, growth } });
    expect(events).toMatchObject([{ type: 'step.skipped' }]);
    expect(host.ran).toEqual([]);
  });
});
