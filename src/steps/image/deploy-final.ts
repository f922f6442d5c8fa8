import { asAgentError, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer, type RemotePointer } from '../../ignition/pointer.ts';
import { decodeContent } from '../../ignition/resource.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError, FailureKind } from '../../model/failure.ts';
import { readPullError } from '../../os/pull-failure.ts';
import type { Web } from '../../ports/web.ts';
import {
  findPartition,
  type FoundPartition,
  freePercent,
  type BlockDevice,
} from '../disk/block-devices.ts';
import type { TargetDisk } from '../disk/facts.ts';
import type { diskFailures } from '../disk/failures.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { confirmTarget, readTarget } from '../disk/target.ts';
import {
  kernelArgumentsIn,
  readArchitecture,
  unreadableOutput,
  readTextOr,
} from '../host-commands.ts';
import { ignitionSourceFailure } from '../ignition/failures.ts';
import type { StepScope } from '../step.ts';
import { imageFailure, type imageFailures, imageFileMissing } from './failures.ts';
import {
  bootMount,
  type Overwrite,
  overwriteCommands,
  platformArgument,
  type PullSource,
  rootMount,
} from './overwrite-argv.ts';
import { runUndoable, type UndoableCommand } from './undoable.ts';

type HostScope = StepScope<'host'>;

const commandLineArgv = ['cat', '/proc/cmdline'] as const;
const isEnforcingArgv = ['getenforce'] as const;

interface FinalOs {
  readonly os: EncapsulatedMachineConfig;
  readonly source: PullSource;
  /** The root of the disk is mounted at another place too, by what must continue to write to it. */
  readonly isRootShared?: boolean;
}

/** What `deployFinal` runs on the host. */
export const deployPrograms = [
  ...['cat', 'find', 'fsfreeze', 'getenforce', 'growpart', 'lsblk', 'mount', 'ostree'],
  ...['setenforce', 'sync', 'umount', 'uname', 'xfs_growfs'],
] as const;

/**
 * Whether another operating system can be put on a written disk before its first boot. On s390x
 * zipl would have to run again for another kernel.
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
 * Puts the final operating system on the written disk, so that its first boot is into that one.
 * When it fails, the disk boots what it did before, and nothing stays mounted.
 * @throws AgentError `image.wrong-architecture`, `image.no-room`, `image.registry-unreachable`,
 * `image.pull-cut`, `image.deploy-failed`, `image.wrong-origin`; `wait.timed-out` for another
 * command
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
  const { host, signal } = scope;
  const { stdout } = await host.exec(commandLineArgv, { signal, limit: seconds(30) });
  return {
    disk: target.path,
    root,
    boot,
    freePercent: freePercent(disk, root.sizeBytes),
    platform: platformArgument(kernelArgumentsIn('cat', stdout)),
    os,
    source,
    writerArgs: scope.config.image.writerArgs,
    isEnforcing: await isEnforcing(scope),
    isRootShared,
  };
}

interface WrittenDisk {
  readonly disk: BlockDevice;
  readonly root: FoundPartition;
  readonly boot: FoundPartition;
}

/**
 * Waits until the partitions of a written disk are known: the table was written a moment ago, and
 * udev may still be reading what they are.
 * @throws AgentError `wait.timed-out` after a minute
 */
export function findWrittenDisk(scope: HostScope, target: TargetDisk): Promise<WrittenDisk> {
  const poll = async (signal: AbortSignal): Promise<PollResult<WrittenDisk>> => {
    const disk = await readTarget(scope.host, target, signal);
    try {
      const [root, boot] = [findPartition(disk, 'root'), findPartition(disk, 'boot')];
      return { done: { disk, root, boot } };
    } catch (error) {
      return { status: asAgentError(error).message };
    }
  };
  const limits = { every: seconds(1), within: minutes(1) };
  return scope.until('the partitions of the written disk are known', poll, limits);
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
    if (asAgentError(error).code !== 'command.not-found')
      noteFailed({ signal, note }, 'the mode of SELinux is not known and stays unchanged', error);
    return false;
  }
}

/** Why a deployment failed. Our own errors, such as a stop, stay unchanged. */
export function deployFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const { kind, cause: said } = readPullError(String(error.context['stderr'] ?? ''));
  const code = kind === undefined ? 'image.deploy-failed' : (`image.${kind}` as const);
  return imageFailure(code, `${image}: ${said ?? error.message}`, { cause, context: { image } });
}

/**
 * What a failed deployment means for the first boot. ostree makes a deployment bootable last and at
 * once, so the disk boots the system of its image either way. Whether the node can then go over to
 * the image by itself depends on what was missing: a registry comes back, room and another
 * processor do not.
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

/** Version 3.4 is what the machine-config-server of every OpenShift since 4.15 can serve. */
const accept = 'application/vnd.coreos.ignition+json; version=3.4.0';

/** Rendered configs reach several MB; nothing that is larger than this is one. */
const largestBytes = 64 * 1024 ** 2;

/** Failures that may pass while the machine-config-server comes up. */
const passing: readonly FailureKind[] = ['remote', 'media', 'limit'];

/**
 * Finds out, from the Ignition that was put on the disk, which operating system the first boot
 * would turn this one into. The machine-config-server may not be up yet; it is waited for.
 * @throws AgentError `ignition.*`, `wait.timed-out`
 */
export const findFinalOs = (
  scope: StepScope<'host' | 'web'>,
  ignitionPath: string,
): Promise<EncapsulatedMachineConfig> =>
  readRendered(scope, ignitionPath, {
    read: readEncapsulated,
    within: serverTimeout(scope.config.layering),
  });

/**
 * Reads the config that the Ignition on the disk leads to, waiting for the machine-config-server.
 * What `read` throws of a kind that may pass is waited over too.
 * @throws AgentError `ignition.*`, `wait.timed-out`, and what `read` throws
 */
export async function readRendered<T>(
  { host, web, signal, until }: StepScope<'host' | 'web'>,
  ignitionPath: string,
  {
    read,
    within = minutes(20),
  }: { readonly read: (rendered: Uint8Array) => T; readonly within?: Millis },
): Promise<T> {
  const text = await readTextOr({ host, signal }, ignitionPath, imageFileMissing);
  const pointer = readPointer(parseConfig(text));
  const poll = async (at: AbortSignal): Promise<PollResult<T>> => {
    try {
      const rendered =
        pointer.kind === 'embedded' ? pointer.content : await fetchRendered(web, pointer, at);
      return { done: read(rendered) };
    } catch (error) {
      at.throwIfAborted();
      // What the embedded config lacks will not come by waiting.
      if (pointer.kind === 'embedded' || !passing.includes(asAgentError(error).kind)) throw error;
      return { status: asAgentError(error).message };
    }
  };
  const limits = { every: seconds(5), within };
  return until('the rendered config of this pool can be read', poll, limits);
}

/**
 * How long the machine-config-server is waited for. A bootstrap host that builds operating systems
 * holds it back until two of them are there, and no other host knows of that.
 */
const serverTimeout = ({ mode, buildMinutes }: StepScope<never>['config']['layering']): Millis =>
  minutes(mode === 'off' ? 20 : 20 + 2 * buildMinutes);

async function fetchRendered(
  web: Web,
  { url, resource, certificateAuthorities: ca }: RemotePointer,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const trust = ca === '' ? {} : { ca, caOnly: true };
  const { body, origin } = await web.open(url, { signal, accept, ...trust });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes !== undefined) return decodeContent(resource, bytes);
  throw ignitionSourceFailure('ignition.oversized', `${shownUrl(origin)} sends more than 64 MiB`, {
    context: { origin: shownUrl(origin) },
  });
}
