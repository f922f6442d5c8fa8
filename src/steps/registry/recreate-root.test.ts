import { describe, expect, it } from 'vitest';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { copyRegistry, decideRecreation } from './copy.ts';

const nothing = {
  isCopyBegun: false,
  isSaved: false,
  isInCopy: false,
  isOnDisk: false,
  isEmptied: false,
};
const saved = { ...nothing, isSaved: true };

describe('what is still to do', () => {
  it.each([
    ['at the first try', nothing, 'all'],
    ['when the registry was being copied', { ...nothing, isCopyBegun: true }, 'none'],
    [
      'when the copy to memory was cut off',
      { ...saved, isOnDisk: true, isInCopy: true },
      'cleanup',
    ],
    ['when it was cut off at its beginning', { ...saved, isOnDisk: true }, 'cleanup'],
    ['when the file system is empty', { ...saved, isInCopy: true, isEmptied: true }, 'restore'],
    ['when all is back', { ...saved, isOnDisk: true, isEmptied: true }, 'cleanup'],
    [
      'when half of it is back',
      { ...saved, isInCopy: true, isOnDisk: true, isEmptied: true },
      'lost',
    ],
    ['when it is nowhere', saved, 'lost'],
  ])('%s', (_, tries, expected) => {
    expect(decideRecreation({ ...nothing, ...tries })).toBe(expected);
  });
});

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

describe('registry/copy after an earlier try', () => {
  it.each([
    ['restores', [copy, `${copy}/ostree`, emptied], ['restore', 'cleanup']],
    ['drops a copy that was cut off', [copy, `${copy}/ostree`, '/mnt/root/ostree'], ['cleanup']],
    [
      'leaves the registry that is there in place',
      ['/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry', copy],
      [],
    ],
  ])('%s', async (_, paths, expected) => {
    const host = hostWith(paths);
    await runStep(copyRegistry, { host, facts });
    expect(verbs(host)).toEqual(expected);
  });

  it('ends at once where it would make what is left empty', async () => {
    const host = hostWith([copy, `${copy}/ostree`, '/mnt/root/ostree', emptied]);
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
