// Recreates the root file system of the written disk with allocation groups that suit its new size: XFS made small and
// grown far is slow. The script of RHCOS does it on first boot, above a threshold; here it is asked for in any case,
// and early, since the data of the registry would otherwise be moved twice.
//
// The script is not made to run twice (fedora-coreos-config, ignition-ostree-transposefs.sh): `autosave-xfs` takes a
// copy in memory that is there for a whole one, and makes the file system empty; `restore` moves the copy away file by
// file; both take the file system that udev has labelled root, on whatever disk. So each try finds out first how far an
// earlier one came.
import { asAgentError } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import type { FoundPartition } from '../disk/block-devices.ts';
import { confirmTarget } from '../disk/target.ts';
import { settleArgv } from '../disk/wipe.ts';
import type { TargetDisk } from '../disk/facts.ts';
import { isTrue } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import { registryFailure } from './find-media.ts';

const script = '/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh';

/** Copies the root file system to memory, and makes it empty. */
const saveArgv = [
  ...['bash', '-c', `sed 's/threshold=[0-9]*/threshold=0/' ${script} | bash -s autosave-xfs`],
] as const;
const restoreArgv = ['bash', '-c', `${script} restore`] as const;
const cleanupArgv = ['bash', '-c', `${script} cleanup`] as const;

/** Where the script keeps its copy, and what it leaves once the file system is empty. */
const copy = '/run/ignition-ostree-transposefs/root';
const emptied = '/run/ignition-ostree-autosaved-xfs.stamp';

/** What is asked of a disk that nothing was tried on. */
export const earlierTriesArgvs = (registry: string): readonly (readonly string[])[] => [
  ['test', '-d', registry],
  ['test', '-d', copy],
];

/** The commands of such a disk. */
export const recreateArgvs = [saveArgv, restoreArgv, cleanupArgv] as const;

/** How far earlier tries came. */
interface EarlierTries {
  /** The registry is, or was to be, copied already. */
  readonly isCopyBegun: boolean;
  /** There is a copy in memory, whole or in part. */
  readonly isSaved: boolean;
  /** The system is in the copy, or what is left of it. */
  readonly isInCopy: boolean;
  /** The system is on the disk, or what is back of it. */
  readonly isOnDisk: boolean;
  /** The file system was made empty. */
  readonly isEmptied: boolean;
}

/** What is still to do: everything, to put the system back, to drop the copy, or nothing. */
type Recreation = 'all' | 'restore' | 'cleanup' | 'none' | 'lost';

/** Decides from how far earlier tries came what may be done without losing the system. */
export function decideRecreation(tries: EarlierTries): Recreation {
  if (tries.isCopyBegun) return 'none';
  if (!tries.isSaved) return 'all';
  if (tries.isOnDisk) return tries.isInCopy && tries.isEmptied ? 'lost' : 'cleanup';
  return tries.isInCopy ? 'restore' : 'lost';
}

/**
 * Finds out what is still to do.
 * @param mount where the root file system is mounted meanwhile
 * @param registry the directory of the registry data below it
 * @throws AgentError `registry.root-lost`
 */
export async function planRecreation(
  scope: StepScope<'host'>,
  { mount, registry }: { readonly mount: string; readonly registry: string },
): Promise<Recreation> {
  const isThere = (option: string, path: string): Promise<boolean> =>
    isTrue(scope, ['test', option, path]);
  const isCopyBegun = await isThere('-d', registry);
  const isSaved = !isCopyBegun && (await isThere('-d', copy));
  const found = decideRecreation({
    isCopyBegun,
    isSaved,
    isInCopy: isSaved && (await isThere('-d', `${copy}/ostree`)),
    isOnDisk: isSaved && (await isThere('-d', `${mount}/ostree`)),
    isEmptied: isSaved && (await isThere('-f', emptied)),
  });
  if (found !== 'lost') return found;
  throw registryFailure(
    'registry.root-lost',
    'an earlier try was cut off while it put the system back on the root file system',
  );
}

/** What is recreated. */
interface Recreated {
  readonly target: TargetDisk;
  readonly root: FoundPartition;
  readonly recreation: Recreation;
}

/**
 * Does what is still to do. A root file system that could not be copied to memory stays as it is: it works, slower.
 * @throws AgentError `registry.root-lost`, `disk.changed`, `command.*`
 */
export async function recreateRoot(
  scope: StepScope<'host'>,
  { target, root, recreation }: Recreated,
): Promise<void> {
  const { host, signal, note } = scope;
  const run = async (argv: readonly string[]): Promise<void> => {
    await confirmTarget(host, target, scope);
    await host.exec(argv, { signal, limit: minutes(30) });
  };
  const slow = (because: string): void =>
    note('warn', 'the root file system is grown as it is, which may make it slow', { because });
  if (recreation === 'none') return;
  if (recreation === 'cleanup') slow('an earlier try to recreate it was cut off');
  else {
    const own = (await host.realPath(root.path, signal)) ?? root.path;
    const labelled = await labelledRoot(scope, own);
    const isOwn = labelled === own;
    if (!isOwn && recreation === 'restore') {
      throw registryFailure(
        'registry.root-lost',
        `the system is in memory, and the label root leads to ${labelled ?? 'nothing'}`,
      );
    }
    if (!isOwn) {
      slow(`the label root leads to ${labelled ?? 'nothing'}, not to ${root.path}`);
      return;
    }
    if (recreation === 'all') await run(saveArgv);
    await run(restoreArgv);
  }
  try {
    await run(cleanupArgv);
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    if (code === 'disk.changed') throw error;
    note('warn', 'the copy of the root file system stays in memory until the host reboots', {
      code,
      reason: message,
    });
  }
}

/** Where the label root leads to, once udev has seen the partition that has just grown. */
async function labelledRoot(
  { host, signal }: StepScope<'host'>,
  own: string,
): Promise<string | undefined> {
  const link = '/dev/disk/by-label/root';
  const found = await host.realPath(link, signal);
  if (found === own) return found;
  await host.exec(settleArgv, { signal, limit: minutes(1), accept: [0, 1] });
  return host.realPath(link, signal);
}
