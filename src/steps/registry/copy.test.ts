import { describe, expect, it } from 'vitest';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { copyRegistry, findRegistryArgv, findRegistryMedia, planRegistryGrowth } from './copy.ts';

const disk = coreOsDisk('sda');
const facts = { disk: targetOf(disk), growth: { kind: 'grow', freePercent: 42 } } as const;
const script = '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';
const thaw = ['sh', '-c', 'fsfreeze --unfreeze /mnt/root || true'];
const rsync =
  'rsync -ah --info=progress2 /mnt/agentdata/ /mnt/root/ostree/deploy/rhcos/var/lib/iri-registry/';

/** A host whose programs all succeed, and that has these paths. */
function applianceHost(paths: readonly string[] = [], root = '/dev/sda4'): FakeHost {
  return fakeHost()
    .on([rest])
    .succeeds()
    .withLink('/dev/disk/by-label/root', root)
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(['test', rest])
    .answers(([, , path = '']) => ({ exitCode: paths.includes(path) ? 0 : 1 }));
}

const after = (host: FakeHost) => host.ran.filter(([program]) => program !== 'lsblk');

describe('registry/copy', () => {
  it('runs the commands of an appliance in order', async () => {
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

  it('reports the progress of rsync', async () => {
    const host = applianceHost()
      .on(['sh', '-c', rsync])
      .prints(
        'list\n  1.00G   5%  85MB/s 0:01\r  0.9G   4%  85MB/s 0:02\r  20.00G 100%  85MB/s 0:04\n',
      );
    const { progress } = await runStep(copyRegistry, { host, facts });
    expect(progress.map(({ info }) => info)).toEqual(['5%', '100%']);
  });

  it.each([
    ['within 3 s when the run is stopped', true, seconds(3)],
    ['within 10 min when the copy fails', false, minutes(10)],
  ])('unmounts the disk %s', async (...[, isStopped, most]) => {
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

  it('first thaws and unmounts the disk after a killed run', async () => {
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
      applianceHost().on(['growpart', rest]).fails(2, 'FAILED'),
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

  it('continues when the partition is already grown', async () => {
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

it.each([
  [0, true],
  [1, false],
])('findRegistryMedia reads exit code %d of stat as isPresent %s', async (exitCode, isPresent) => {
  const host = fakeHost().on(findRegistryArgv).fails(exitCode);
  const { value } = await runStep(findRegistryMedia, { host });
  expect(value).toEqual({ isPresent });
  expect(host.ran).toEqual([['stat', '/run/media/iso/registry']]);
});

const measured = (printed = `${20 * 1024 ** 3}\t/mnt/agentdata`) =>
  fakeHost().on(['lsblk', rest]).prints(lsblkOutput(disk)).on(['du', rest]).prints(printed);

describe('registry/plan-growth', () => {
  const facts = { disk: targetOf(disk), media: { isPresent: true } };

  it('calculates the percentage that stays free', async () => {
    const { value } = await runStep(planRegistryGrowth, { host: measured(), facts });
    expect(value).toEqual({ kind: 'grow', freePercent: 42 });
  });

  it('measures nothing without a registry on the medium', async () => {
    const host = fakeHost();
    const media = { isPresent: false };
    const { value } = await runStep(planRegistryGrowth, { host, facts: { ...facts, media } });
    expect(value).toEqual({ kind: 'none' });
    expect(host.ran).toEqual([]);
  });

  it.each([
    ['the disk is too small', measured('100000000000\t/'), 'registry.disk-too-small'],
    ['du prints no size', measured('du: cannot access'), 'registry.unreadable'],
  ])('fails when %s', async (_what, host, code) => {
    const { failure } = await tryStep(planRegistryGrowth, { host, facts });
    expect(failure).toMatchObject({ code });
  });
});

const verbs = (host: FakeHost) =>
  host.ran.flatMap(([program, , script = '']) =>
    program === 'bash' ? [script.split(' ').at(-1)] : [],
  );
const copy = '/run/ignition-ostree-transposefs/root';
const emptied = '/run/ignition-ostree-autosaved-xfs.stamp';

const inCopy = `${copy}/ostree`;
const onDisk = '/mnt/root/ostree';
const registry = `${onDisk}/deploy/rhcos/var/lib/iri-registry`;

describe('registry/copy after an earlier attempt', () => {
  it.each([
    ['runs all commands at the first attempt', [], ['autosave-xfs', 'restore', 'cleanup']],
    ['restores an empty file system', [copy, inCopy, emptied], ['restore', 'cleanup']],
    ['drops an incomplete copy', [copy, inCopy, onDisk], ['cleanup']],
    ['drops a copy that has just begun', [copy, onDisk], ['cleanup']],
    ['drops the copy when the file system is restored', [copy, onDisk, emptied], ['cleanup']],
    ['keeps an existing registry', [registry, copy], []],
  ])('%s', async (_, paths, expected) => {
    const host = applianceHost(paths);
    await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual(expected);
  });

  it.each([
    ['it is partly restored', [copy, inCopy, onDisk, emptied]],
    ['it is missing', [copy]],
  ])('fails at once when the root file system would be lost: %s', async (_, paths) => {
    const host = applianceHost(paths);
    const { failure } = await tryStep(copyRegistry, { host, facts });
    expect(failure).toMatchObject({ code: 'registry.root-lost' });
    expect(verbs(host)).toEqual([]);
  });

  it('does not recreate the file system of another disk with the label root', async () => {
    const host = applianceHost([], '/dev/sdb4');
    const { notes } = await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual([]);
    expect(notes).toEqual([
      'warn: the root file system is grown, not made again, which may make it slow',
    ]);
  });

  it.each([0, 1, 2])('stops after %d steps when the disk has been replaced', async (after) => {
    const host = applianceHost([]);
    const steps = () => host.ran.filter(([one = '']) => /growpart|bash/.test(one)).length;
    const disks = (serial: string) => lsblkOutput({ ...disk, serial });
    host.on(['lsblk', rest]).answers(() => disks(steps() < after ? 'S1' : 'S2'));
    const target = targetOf({ ...disk, serial: 'S1' });
    const { failure } = await tryStep(copyRegistry, { host, facts: { ...facts, disk: target } });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(steps()).toBe(after);
  });

  it('waits until udev has processed the grown partition', async () => {
    const host = applianceHost([], '/dev/sda9');
    host.on(['udevadm', rest]).answers(() => {
      host.withLink('/dev/disk/by-label/root', '/dev/sda4');
    });
    await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual(['autosave-xfs', 'restore', 'cleanup']);
  });

  it('continues when the cleanup of the copy fails', async () => {
    const host = applianceHost([]);
    host.on(['bash', rest]).answers(([, , script = '']) => ({
      exitCode: script.endsWith('cleanup') ? 1 : 0,
    }));
    const { notes } = await runStep(copyRegistry, { host, facts });
    expect(notes).toHaveLength(1);
  });
});
