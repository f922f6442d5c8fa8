import { type Millis, seconds } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { diskFailure } from './failures.ts';
import type { TargetDisk } from './facts.ts';
import { type BlockDevice, lsblkArgv, parseLsblk } from './lsblk.ts';
import { everyDevice } from './tree.ts';

/** lsblk ends with this when there is no device at all. */
const foundNone = 32;

/**
 * Every block device of the host.
 * @throws AgentError `disk.unreadable`, `command.*`
 */
export async function readBlockDevices(
  host: Host,
  signal: AbortSignal,
  limit: Millis = seconds(30),
): Promise<readonly BlockDevice[]> {
  const { stdout, exitCode } = await host.exec(lsblkArgv, {
    signal,
    limit,
    accept: [0, foundNone],
  });
  return exitCode === foundNone ? [] : parseLsblk(stdout);
}

/**
 * The install disk among the devices of the host, by its device number.
 * @throws AgentError `disk.missing` when it has gone since it was resolved
 */
export function targetAmong(roots: readonly BlockDevice[], target: TargetDisk): BlockDevice {
  const found = everyDevice(roots).find(
    ({ majorMinor, kname }) => majorMinor === target.majorMinor && kname === target.name,
  );
  if (found !== undefined) return found;
  throw diskFailure('disk.missing', `${target.path} has gone since it was found`, {
    hint: 'look at the cable and at the kernel log of the host',
    context: { disk: target.path },
  });
}

/**
 * The install disk as it is now.
 * @throws AgentError `disk.missing`, `disk.unreadable`, `command.*`
 */
export async function readTarget(
  host: Host,
  target: TargetDisk,
  signal: AbortSignal,
): Promise<BlockDevice> {
  return targetAmong(await readBlockDevices(host, signal), target);
}
