import { seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { type BlockDevice, partitionsOf } from './block-devices.ts';
import type { TargetDisk } from './facts.ts';
import { readTarget } from './target.ts';

/** Removes every signature of a device, whatever has it: the kernel may hold the disk still. */
const wipefsForcedArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--force', path],
];

/**
 * Overwrites the boot code and the partition table. Directly, past the page cache: a flush of what
 * the writer left there could take minutes, and a stopped run has seconds.
 */
const zeroTableArgv = (disk: string): readonly string[] => [
  ...['dd', 'if=/dev/zero', `of=${disk}`, 'bs=1M', 'count=1', 'oflag=direct'],
];

/** Partitions that a CoreOS disk boots from (coreos-assembler, `create_disk.sh`). */
const bootLabels = ['EFI-SYSTEM', 'boot'];

/**
 * The partitions to make useless where the table itself must stay; none where it is not known which
 * of them are kept.
 */
const bootPartitions = (disk: BlockDevice, kept: TargetDisk['kept']): readonly string[] =>
  kept === undefined
    ? []
    : partitionsOf(disk)
        .filter(({ partLabel, partUuid }) => partUuid !== '' && bootLabels.includes(partLabel))
        .filter(({ partUuid }) => !kept.some((one) => one.partUuid === partUuid))
        .map(({ path }) => path);

/**
 * 2.4 s for either way: a look and the table, or a look and a signature for each of the two
 * partitions that boot.
 */
const hurried = { table: seconds(1.2), partition: seconds(0.6) };

/**
 * Sees to it that a disk that was not written to its end does not boot. The writer does so itself
 * when it fails, but not when it is stopped, nor when the kernel holds the disk. It runs when the
 * run is over already, so it listens to no signal; its commands are short.
 */
export async function makeUnbootable(
  host: Host,
  {
    disk,
    keepsPartitions,
    isStopped,
  }: {
    readonly disk: TargetDisk;
    /** The table holds partitions that must not be lost. */
    readonly keepsPartitions: boolean;
    /** The run is to end now: it is killed a few seconds after its stop. */
    readonly isStopped: boolean;
  },
): Promise<void> {
  const { signal } = new AbortController();
  const limit = isStopped ? hurried[keepsPartitions ? 'partition' : 'table'] : seconds(30);
  const confirm = (): Promise<BlockDevice> => readTarget(host, disk, signal, limit);
  const seen = await confirm();
  if (keepsPartitions) {
    for (const [index, path] of bootPartitions(seen, disk.kept).entries()) {
      if (index > 0) await confirm();
      await host.exec(wipefsForcedArgv(path), { signal, limit });
    }
    return;
  }
  await host.exec(zeroTableArgv(disk.path), { signal, limit });
  // Nothing boots from now on: a stop waits for no more.
  if (isStopped) return;
  await confirm();
  await host.exec(wipefsForcedArgv(disk.path), { signal, limit });
}
