import { minutes, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { type BlockDevice, partitionsOf } from './block-devices.ts';
import type { TargetDisk } from './facts.ts';
import { readTarget } from './target.ts';

/** Removes every signature of a device even if it is in use: the kernel may still hold the disk. */
const wipefsForcedArgv = (path: string): readonly string[] => [
  ...['wipefs', '--all', '--force', path],
];

/** Partitions that a CoreOS disk boots from (coreos-assembler, `create_disk.sh`). */
const bootLabels = ['EFI-SYSTEM', 'boot'];

/**
 * 2.4 s for either method: a check and the table, or a check and a signature for each of the two
 * boot partitions.
 */
const hurried = { table: seconds(1.2), partition: seconds(0.6) };

/**
 * Makes an incompletely written disk unbootable. The writer does so itself when it fails, but not
 * when it is stopped, nor when the kernel holds the disk. The run is over at this point, so this
 * function has no signal; its commands are short.
 */
export async function makeUnbootable(
  host: Host,
  {
    disk,
    keepsPartitions,
    isStopped,
  }: {
    readonly disk: TargetDisk;
    /** The table has partitions that must be kept. */
    readonly keepsPartitions: boolean;
    /** The run ends now: it is killed a few seconds after its stop. */
    readonly isStopped: boolean;
  },
): Promise<void> {
  const { signal } = new AbortController();
  const limit = isStopped ? hurried[keepsPartitions ? 'partition' : 'table'] : minutes(2);
  const confirm = (): Promise<BlockDevice> => readTarget(host, disk, signal, limit);
  const seen = await confirm();
  if (keepsPartitions) {
    const { kept } = disk;
    // Without the kept partitions no partition is known to be another one.
    const others = partitionsOf(seen).filter(
      ({ partLabel, partUuid }) =>
        partUuid !== '' &&
        bootLabels.includes(partLabel) &&
        kept?.some((one) => one.partUuid === partUuid) === false,
    );
    for (const [index, { path }] of others.entries()) {
      if (index > 0) await confirm();
      await host.exec(wipefsForcedArgv(path), { signal, limit });
    }
    return;
  }
  // The boot code and the partition table. The page cache is bypassed: a flush of the data that the
  // writer left there could take minutes, and a stopped run has seconds.
  const zeroArgv = ['dd', 'if=/dev/zero', `of=${disk.path}`, 'bs=1M', 'count=1', 'oflag=direct'];
  await host.exec(zeroArgv, { signal, limit });
  // The disk cannot boot from now on: a stopped run waits no longer.
  if (isStopped) return;
  await confirm();
  await host.exec(wipefsForcedArgv(disk.path), { signal, limit });
}
