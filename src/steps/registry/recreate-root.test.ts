import { describe, expect, it } from 'vitest';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { copyRegistry } from './copy.ts';

const facts = {
  disk: targetOf(coreOsDisk('sda')),
  growth: { kind: 'grow', freePercent: 42 },
} as const;

function hostWith(paths: readonly string[], root = '/dev/sda4'): FakeHost {
  const host = fakeHost().on([rest]).succeeds().withLink('/dev/disk/by-label/root', root);
  return host
    .on(['lsblk', rest])
    .prints(lsblkOutput(coreOsDisk('sda')))
    .on(['test', rest])
    .answers(([, , path = '']) => ({ exitCode: paths.includes(path) ? 0 : 1 }));
}
const verbs = (host: FakeHost) =>
  host.ran.flatMap(([program, , script = '']) =>
    program === 'bash' ? [script.split(' ').at(-1)] : [],
  );
const copy = '/run/ignition-ostree-transposefs/root';
const emptied = '/run/ignition-ostree-autosaved-xfs.stamp';

const inCopy = `${copy}/ostree`;
const onDisk = '/mnt/root/ostree';
const registry = `${onDisk}/deploy/rhcos/var/lib/iri-registry`;

describe('registry/copy after an earlier try', () => {
  it.each([
    ['does all at the first try', [], ['autosave-xfs', 'restore', 'cleanup']],
    ['restores an empty file system', [copy, inCopy, emptied], ['restore', 'cleanup']],
    ['drops a copy that was cut off', [copy, inCopy, onDisk], ['cleanup']],
    ['drops a copy that was cut off at its beginning', [copy, onDisk], ['cleanup']],
    ['drops what is left when all is back', [copy, onDisk, emptied], ['cleanup']],
    ['leaves the registry that is there in place', [registry, copy], []],
  ])('%s', async (_, paths, expected) => {
    const host = hostWith(paths);
    await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual(expected);
  });

  it.each([
    ['half of it is back', [copy, inCopy, onDisk, emptied]],
    ['it is nowhere', [copy]],
  ])('ends at once where the system would be lost: %s', async (_, paths) => {
    const host = hostWith(paths);
    const { failure } = await tryStep(copyRegistry, { host, facts });
    expect(failure).toMatchObject({ code: 'registry.root-lost' });
    expect(verbs(host)).toEqual([]);
  });

  it('makes no file system of another disk with the label root empty', async () => {
    const host = hostWith([], '/dev/sdb4');
    const { notes } = await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual([]);
    expect(notes).toEqual([
      'warn: the root file system is grown, not made again, which may make it slow',
    ]);
  });

  it('waits until udev has seen the partition that has grown', async () => {
    const host = hostWith([], '/dev/sda9');
    host.on(['udevadm', rest]).answers(() => {
      host.withLink('/dev/disk/by-label/root', '/dev/sda4');
    });
    await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual(['autosave-xfs', 'restore', 'cleanup']);
  });

  it('continues when the memory of the copy cannot be freed', async () => {
    const host = hostWith([]);
    host.on(['bash', rest]).answers(([, , script = '']) => ({
      exitCode: script.endsWith('cleanup') ? 1 : 0,
    }));
    const { notes } = await runStep(copyRegistry, { host, facts });
    expect(notes).toHaveLength(1);
  });
});
