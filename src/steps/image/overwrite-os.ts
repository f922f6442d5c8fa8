import { all, condition } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import type { Config } from '../../config/schema.ts';
import { type Millis, hours, minutes, seconds } from '../../model/duration.ts';
import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import { writesDisk } from '../conditions.ts';
import { readTarget } from '../disk/block-devices.ts';
import { leaveEarlierMounts } from '../disk/earlier-mounts.ts';
import { TargetDisk } from '../disk/facts.ts';
import { type BlockDevice, lsblkArgv } from '../disk/lsblk.ts';
import { findPartition, type FoundPartition, freePercent } from '../disk/partitions.ts';
import { HostIgnition } from '../ignition/facts.ts';
import { step, type StepScope } from '../step.ts';
import { WrittenImage } from './facts.ts';
import { architectureArgv } from './find-in-stream.ts';
import { findFinalOs } from './final-os.ts';
import { keepTelling } from './keep-telling.ts';
import {
  bootMount,
  type Overwrite,
  overwriteCommands,
  platformArgument,
  previewCommands,
  rootMount,
} from './overwrite-argv.ts';
import { proxyEnv } from './proxy-env.ts';
import { runUndoable } from './undoable.ts';

const skipsReboot = condition<Config>(
  'the final operating system is written before the first boot',
  ({ image }) => image.skipMcoReboot,
);

const commandLineArgv = ['cat', '/proc/cmdline'] as const;
const isEnforcingArgv = ['getenforce'] as const;

type OverwriteScope = StepScope<'host' | 'web' | 'clock'>;

/**
 * Writes the operating system that the cluster wants over the one of the image, which saves the
 * reboot in which the machine-config-daemon would do so. Without it the node gets there all the
 * same, so whatever fails here is told and not fatal.
 */
export const overwriteOs = step({
  id: 'image/overwrite-os',
  title: 'Write the final operating system before the first boot',
  uses: ['host', 'web', 'clock'],
  needs: { disk: TargetDisk, ignition: HostIgnition, written: WrittenImage },
  when: all(writesDisk, skipsReboot),
  destroys: true,
  touches: ['disk:install'],
  limit: hours(6),
  waitsFor: 'the rendered config of the pool, from the machine-config-server, at most 20 minutes',
  preview: ({ image }, { disk }) => [
    architectureArgv,
    lsblkArgv,
    commandLineArgv,
    isEnforcingArgv,
    ...previewCommands(disk.path, image.writerArgs),
  ],
  run: async (scope, { disk, ignition }) => {
    const { clock, progress, signal, note } = scope;
    try {
      await keepTelling(
        'writing the final operating system',
        { clock, tell: progress },
        async () => {
          const architecture = await ask(scope, architectureArgv);
          if (architecture === 's390x') {
            // zipl would have to run again for another kernel.
            note('info', 's390x boots from a fixed place: the operating system stays as it is');
            return;
          }
          const os = await findFinalOs(scope, ignition.path);
          await apply(scope, await planOverwrite(scope, disk, os));
        },
      );
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the final operating system is not written; the node will reboot once more', {
        code,
        reason: message,
      });
    }
  },
});

async function planOverwrite(
  scope: OverwriteScope,
  target: TargetDisk,
  os: EncapsulatedMachineConfig,
): Promise<Overwrite> {
  const { config, until } = scope;
  const { disk, root, boot } = await until(
    'the partitions of the written disk are known',
    (at) => lookForPartitions(scope, target, at),
    { every: seconds(1), within: minutes(1) },
  );
  await leaveEarlierMounts(scope, disk, [bootMount, rootMount]);
  return {
    disk: target.path,
    root,
    boot,
    freePercent: freePercent(disk, root.sizeBytes),
    platform: platformArgument(await ask(scope, commandLineArgv)),
    os,
    writerArgs: config.image.writerArgs,
    isEnforcing: await isEnforcing(scope),
  };
}

interface WrittenDisk {
  readonly disk: BlockDevice;
  readonly root: FoundPartition;
  readonly boot: FoundPartition;
}

/** The table was written a moment ago, and udev may still be reading what the partitions are. */
async function lookForPartitions(
  { host }: OverwriteScope,
  target: TargetDisk,
  signal: AbortSignal,
): Promise<Look<WrittenDisk>> {
  const disk = await readTarget(host, target, signal);
  try {
    return { done: { disk, root: findPartition(disk, 'root'), boot: findPartition(disk, 'boot') } };
  } catch (error) {
    return { status: asAgentError(error).message };
  }
}

async function ask({ host, signal }: OverwriteScope, argv: readonly string[]): Promise<string> {
  return (await host.exec(argv, { signal, limit: seconds(30) })).stdout;
}

async function apply(scope: OverwriteScope, overwrite: Overwrite): Promise<void> {
  const { host, signal, config, onExit } = scope;
  if (overwrite.isEnforcing) {
    onExit(async () => {
      const { signal: unheard } = new AbortController();
      await host.exec(['setenforce', '1'], { signal: unheard, limit: seconds(2) });
    }, 'always');
  }
  const limitOf = (isLong: boolean): Millis => (isLong ? hours(1) : minutes(2));
  await runUndoable(scope, overwriteCommands(overwrite), ({ argv, accept = [0], isLong = false }) =>
    host.exec(argv, { signal, accept, limit: limitOf(isLong), env: proxyEnv(config.proxy) }),
  );
}

/** A host without SELinux has nothing to be put back. */
async function isEnforcing({ host, signal }: OverwriteScope): Promise<boolean> {
  try {
    const { stdout } = await host.exec(isEnforcingArgv, { signal, limit: seconds(30) });
    return stdout === 'Enforcing';
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
