import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { findPartition, type FoundPartition, freePercent } from '../disk/block-devices.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import type { TargetDisk } from '../disk/facts.ts';
import type { diskFailures } from '../disk/failures.ts';
import { type BlockDevice, lsblkArgv } from '../disk/lsblk.ts';
import { confirmTarget, readTarget } from '../disk/target.ts';
import type { StepScope } from '../step.ts';
import {
  architectureArgv,
  kernelArgumentsIn,
  readArchitecture,
  unreadableOutput,
} from '../host-commands.ts';
import {
  bootMount,
  type Overwrite,
  overwriteCommands,
  platformArgument,
  previewCommands,
  type PreviewedOverwrite,
  type PullSource,
  rootMount,
} from './overwrite-argv.ts';
import { runUndoable, type UndoableCommand } from './undoable.ts';
import type { AgentError } from '../../model/failure.ts';
import { readPullError } from '../../os/registry-image.ts';
import { imageFailure, type imageFailures } from './failures.ts';

type HostScope = StepScope<'host'>;

const commandLineArgv = ['cat', '/proc/cmdline'] as const;
const isEnforcingArgv = ['getenforce'] as const;

/** What is to be on the disk. */
interface FinalOs {
  readonly os: EncapsulatedMachineConfig;
  readonly source: PullSource;
  /** The root of the disk is mounted at another place too, by what must go on writing to it. */
  readonly isRootShared?: boolean;
}

/** Every command of `deployFinal`, as a plan shows them. */
export const previewDeploy = (previewed: PreviewedOverwrite): readonly (readonly string[])[] => [
  architectureArgv,
  lsblkArgv,
  commandLineArgv,
  isEnforcingArgv,
  ...previewCommands(previewed),
];

/**
 * Whether another operating system can be put on a written disk before its first boot. On s390x zipl would
 * have to run again for another kernel.
 */
export async function canDeploy(scope: HostScope): Promise<boolean> {
  if ((await readArchitecture(scope)) !== 's390x') return true;
  scope.note(
    'info',
    's390x boots from a fixed location: the operating system is not replaced before the first boot',
  );
  return false;
}

/**
 * Puts the final operating system on the written disk, so that its first boot is into that one. When it
 * fails, the disk boots what it did before, and nothing is left mounted.
 * @throws AgentError `image.wrong-architecture`, `image.no-room`, `image.registry-unreachable`,
 * `image.pull-cut`, `image.deploy-failed`, `image.wrong-origin`; `wait.timed-out` for another command
 */
export async function deployFinal(
  scope: HostScope,
  target: TargetDisk,
  final: FinalOs,
): Promise<void> {
  await apply(scope, target, await planOverwrite(scope, target, final));
}

async function planOverwrite(
  scope: HostScope,
  target: TargetDisk,
  { os, source, isRootShared = false }: FinalOs,
): Promise<Overwrite> {
  const { disk, root, boot } = await findWrittenDisk(scope, target);
  await removeStaleMounts(scope, disk, [bootMount, rootMount]);
  return {
    disk: target.path,
    root,
    boot,
    freePercent: freePercent(disk, root.sizeBytes),
    platform: platformArgument(await kernelArguments(scope)),
    os,
    source,
    writerArgs: scope.config.image.writerArgs,
    isEnforcing: await isEnforcing(scope),
    isRootShared,
  };
}

/** A disk with a CoreOS system on it. */
interface WrittenDisk {
  readonly disk: BlockDevice;
  readonly root: FoundPartition;
  readonly boot: FoundPartition;
}

/**
 * Waits until the partitions of a written disk are known: the table was written a moment ago, and udev may
 * still be reading what they are.
 * @throws AgentError `wait.timed-out` after a minute
 */
export function findWrittenDisk(scope: HostScope, target: TargetDisk): Promise<WrittenDisk> {
  return scope.until(
    'the partitions of the written disk are known',
    (at) => lookForPartitions(scope, target, at),
    { every: seconds(1), within: minutes(1) },
  );
}

async function lookForPartitions(
  { host }: HostScope,
  target: TargetDisk,
  signal: AbortSignal,
): Promise<PollResult<WrittenDisk>> {
  const disk = await readTarget(host, target, signal);
  try {
    return { done: { disk, root: findPartition(disk, 'root'), boot: findPartition(disk, 'boot') } };
  } catch (error) {
    return { status: asAgentError(error).message };
  }
}

async function kernelArguments({ host, signal }: HostScope): Promise<readonly string[]> {
  const { stdout } = await host.exec(commandLineArgv, { signal, limit: seconds(30) });
  return kernelArgumentsIn('cat', stdout);
}

async function apply(scope: HostScope, target: TargetDisk, overwrite: Overwrite): Promise<void> {
  const { host, signal, onExit } = scope;
  if (overwrite.isEnforcing) {
    onExit(async () => {
      const { signal: unheard } = new AbortController();
      await host.exec(['setenforce', '1'], { signal: unheard, limit: seconds(2) });
    }, 'always');
  }
  let known: unknown;
  try {
    await runUndoable(scope, overwriteCommands(overwrite), async (command) => {
      known = undefined;
      try {
        if (command.argv.includes(target.path)) await confirmTarget(host, target, { signal });
        await runOne(scope, command, overwrite.source);
      } catch (error) {
        const isOwnFailure = command.isLong === true || command.check !== undefined;
        if (isOwnFailure || asAgentError(error).code === 'disk.changed') known = error;
        throw error;
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    // That of the tries would only say that there were several.
    throw known === undefined ? error : deployFailure(known, overwrite.source.image);
  }
}

async function runOne(
  { host, signal, progress }: HostScope,
  command: UndoableCommand,
  { image }: PullSource,
): Promise<void> {
  const { argv, accept = [0], isLong = false, check } = command;
  const limit: Millis = isLong ? hours(1) : minutes(2);
  if (isLong) progress({ info: `deploying ${image}` });
  const { stdout } = await host.exec(argv, { signal, accept, limit });
  check?.(stdout);
}

/** A host without SELinux has nothing to be put back. */
async function isEnforcing({ host, signal, note }: HostScope): Promise<boolean> {
  try {
    const { stdout } = await host.exec(isEnforcingArgv, { signal, limit: seconds(30) });
    if (!/^(?:Enforcing|Permissive|Disabled)$/.test(stdout)) {
      throw unreadableOutput('getenforce', 'mode of SELinux', stdout);
    }
    return stdout === 'Enforcing';
  } catch (error) {
    signal.throwIfAborted();
    const { code, message } = asAgentError(error);
    if (code === 'command.not-found') return false;
    note('warn', 'the mode of SELinux is not known and stays as it is', { code, reason: message });
    return false;
  }
}

/** Why a deployment failed. Errors of ours, such as a stop, stay as they are. */
export function deployFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const { kind, cause: said } = readPullError(String(error.context['stderr'] ?? ''));
  const code = kind === undefined ? 'image.deploy-failed' : (`image.${kind}` as const);
  return imageFailure(code, `${image}: ${said ?? error.message}`, { cause, context: { image } });
}

/**
 * What a failed deployment means for the first boot. ostree makes a deployment bootable last and at once, so
 * the disk boots the system of its image either way. Whether the node can then go over to the image by
 * itself depends on what was missing: a registry comes back, room and another processor do not.
 */
export function canPivotAtFirstBoot({ code }: Pick<AgentError, 'code'>): boolean {
  return !lasting.includes(code);
}

const lasting: readonly string[] = [
  'image.no-room',
  'image.wrong-architecture',
  'image.wrong-origin',
  'disk.changed',
] satisfies readonly (keyof typeof imageFailures | keyof typeof diskFailures)[];
