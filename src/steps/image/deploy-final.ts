import { asAgentError, messageOf, noteFailed } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer, type RemotePointer } from '../../ignition/pointer.ts';
import { decodeContent } from '../../ignition/resource.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import type { AgentError, FailureKind } from '../../model/failure.ts';
import {
  imageArgumentsFolder,
  readBootEntry,
  readImageArguments,
  splitArguments,
  without,
} from '../../os/kernel-arguments.ts';
import { readPullError } from '../../os/pull-failure.ts';
import { readOrigin, referenceIn } from '../../os/status.ts';
import type { Web, WebRequest } from '../../ports/web.ts';
import { findPartition, freePercent } from '../disk/block-devices.ts';
import type { TargetDisk } from '../disk/facts.ts';
import type { diskFailures } from '../disk/failures.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { readTarget } from '../disk/target.ts';
import { kernelArgumentChanges, readWriterSetup } from '../disk/writer-args.ts';
import {
  kernelArgumentsIn,
  readArchitecture,
  unreadableOutput,
  readTextOr,
} from '../host-commands.ts';
import { ignitionSourceFailure } from '../ignition/failures.ts';
import type { StepScope } from '../step.ts';
import { imageFailure, type imageFailures, imageFileMissing } from './failures.ts';
import { diskMounts, growRoot, tryCommand } from './disk-mounts.ts';

type HostScope = StepScope<'host'>;

/** Pull secrets of the host. */
export const authFile = '/root/.docker/config.json';

/** GRUB sets it on the first boot; the system itself replaces it, no shell does. */
export const firstBootArgument = '$ignition_firstboot';

/** The source from which an operating system is pulled. */
export interface PullSource {
  /** Pull spec; `os.osImageURL` unless another name has the image nearer. */
  readonly image: string;
  /** File with the pull secret for it. */
  readonly authFile: string;
  /**
   * Folder with certificates, `*.crt`, that are trusted in addition to the certificates of the live
   * system.
   */
  readonly certificates?: string;
}

/** The stateroot of RHCOS. */
export const finalStateroot = 'rhcos';

/** Mount point of the install disk's root file system during the deployment. */
const rootMount = '/mnt';
const bootMount = '/mnt/boot';

/** The programs that `deployFinal` runs on the host. */
export const deployPrograms = [
  ...['cat', 'find', 'fsfreeze', 'getenforce', 'growpart', 'lsblk', 'mount', 'ostree'],
  ...['setenforce', 'sync', 'umount', 'uname', 'xfs_growfs'],
] as const;

/**
 * Whether another operating system can be deployed to a written disk before its first boot. On
 * s390x zipl would have to run again for another kernel.
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
 * Deploys the final operating system to the written disk, so that the first boot starts it. After a
 * failure the disk boots the same system as before, and nothing stays mounted.
 * @param final.isRootShared the root of the disk is also mounted at another mount point, whose
 * users continue to write to it
 * @throws AgentError `image.wrong-architecture`, `image.no-room`, `image.registry-unreachable`,
 * `image.pull-cut`, `image.deploy-failed`, `image.wrong-origin`, `disk.changed`; `command.*` of
 * another command
 */
export async function deployFinal(
  scope: HostScope,
  target: TargetDisk,
  {
    os,
    source,
    isRootShared = false,
  }: {
    readonly os: EncapsulatedMachineConfig;
    readonly source: PullSource;
    readonly isRootShared?: boolean;
  },
): Promise<void> {
  const { host, onExit, progress } = scope;
  const { disk, root, boot } = await findWrittenDisk(scope, target);
  await removeStaleMounts(scope, disk, [bootMount, rootMount]);
  const deployArgv = await deployFinalArgv(scope, os, source);
  const enforces = await isEnforcing(scope);
  if (enforces) {
    onExit(async () => {
      const { signal: unheard } = new AbortController();
      await host.exec(['setenforce', '1'], { signal: unheard, limit: seconds(2) });
    }, 'always');
  }
  const mounts = diskMounts(scope);
  await mounts.mount(root.path, rootMount);
  await mounts.mount(boot.path, bootMount);
  await growRoot(scope, target, root, freePercent(disk, root.sizeBytes));
  await tryCommand(scope, ['xfs_growfs', rootMount]);
  // The command fails if SELinux is off or missing.
  if (enforces) await tryCommand(scope, ['setenforce', '0']);
  progress({ info: `deploying ${source.image}` });
  try {
    await tryCommand(scope, deployArgv, { limit: hours(1) });
  } catch (error) {
    throw deployFailure(error, source.image);
  }
  // Only a name that differs from the image's own could be the wrong one.
  if (source.image !== os.osImageURL) {
    const origins = await tryCommand(scope, originsArgv(rootMount));
    refuseOrigins(origins, { image: os.osImageURL, source: source.image });
  }
  await addImageArguments(scope);
  await mounts.leave(bootMount);
  if (isRootShared) {
    // A frozen root would stay frozen for its other writers.
    await tryCommand(scope, ['sync', '--file-system', rootMount]);
    await mounts.unmount(rootMount);
  } else {
    await mounts.leave(rootMount);
  }
}

/**
 * Adds the kernel arguments of the deployed image, which `ostree container` does not read, to the
 * next boot entry of the disk. The system boots without them too, so a failure is a warning.
 */
async function addImageArguments(scope: HostScope): Promise<void> {
  try {
    const { entry, wanted } = await findImageArguments(scope);
    const missing = without(wanted, entry.kernelArguments);
    if (missing.length === 0) return;
    await tryCommand(scope, [
      ...['ostree', 'admin', 'instutil', 'set-kargs', `--sysroot=${rootMount}`, '--merge'],
      ...missing.map((argument) => `--append=${argument}`),
    ]);
  } catch (error) {
    noteFailed(scope, 'the node boots without the kernel arguments of its image', error);
  }
}

/** The next boot entry of the disk, and the kernel arguments of the image in it. */
async function findImageArguments(scope: HostScope) {
  const { host, signal } = scope;
  const entries = `${bootMount}/loader/entries`;
  // ostree numbers its entries; the highest number boots.
  const last = (await host.list(entries, signal)).at(-1) ?? '';
  const entry = readBootEntry((await host.readText(`${entries}/${last}`, signal)) ?? '');
  if (entry === undefined) {
    throw imageFailure('image.deploy-failed', `${entries}/${last} boots no deployment of ostree`);
  }
  const folder = `${rootMount}${entry.link}/${imageArgumentsFolder}`;
  const names = (await host.list(folder, signal)).filter((name) => name.endsWith('.toml'));
  const architecture = names.length === 0 ? '' : await readArchitecture(scope);
  const wanted: string[] = [];
  for (const name of names) {
    const text = (await host.readText(`${folder}/${name}`, signal)) ?? '';
    try {
      wanted.push(...readImageArguments(text, architecture));
    } catch (error) {
      const what = `/${imageArgumentsFolder}/${name}: ${messageOf(error)}`;
      throw imageFailure('image.bad-kernel-arguments', what, { cause: error });
    }
  }
  return { entry, wanted };
}

async function deployFinalArgv(
  scope: HostScope,
  os: EncapsulatedMachineConfig,
  { image, authFile, certificates }: PullSource,
): Promise<readonly string[]> {
  const { host, signal } = scope;
  const { stdout } = await host.exec(['cat', '/proc/cmdline'], { signal, limit: minutes(2) });
  const platform = kernelArgumentsIn('cat', stdout).find((argument) =>
    argument.startsWith('ignition.platform.id='),
  );
  const target = `ostree-unverified-registry:${os.osImageURL}`;
  const { uses } = await readWriterSetup(scope);
  const extra = [
    ...kernelArgumentChanges(uses).append,
    ...os.kernelArguments.flatMap(splitArguments),
  ];
  return [
    ...['ostree', 'container', 'image', 'deploy'],
    ...['--sysroot', rootMount, '--authfile', authFile],
    ...(certificates === undefined ? [] : ['--cert-dir', certificates]),
    ...['--imgref', `ostree-unverified-registry:${image}`],
    // The image name that the node records and pulls from later.
    ...(image === os.osImageURL ? [] : ['--target-imgref', target]),
    ...['--karg', platform ?? 'ignition.platform.id=metal', '--karg', firstBootArgument],
    ...['--stateroot', finalStateroot],
    ...extra.flatMap((argument) => ['--karg', argument]),
  ];
}

/**
 * Waits until the partitions of a written disk are known: the table was written a moment ago, and
 * udev may still be reading the partitions.
 * @throws AgentError `wait.timed-out` after a minute
 */
export function findWrittenDisk(scope: HostScope, target: TargetDisk) {
  const poll = async (signal: AbortSignal) => {
    const disk = await readTarget(scope.host, target, signal);
    try {
      const [root, boot] = [findPartition(disk, 'root'), findPartition(disk, 'boot')];
      return { done: { disk, root, boot } };
    } catch (error) {
      return { status: asAgentError(error).message };
    }
  };
  const limits = { every: seconds(1), within: minutes(5) };
  return scope.until('the partitions of the written disk are known', poll, limits);
}

/** Prints the recorded origin of each ostree deployment on a disk: the source of its updates. */
export const originsArgv = (root: string): readonly string[] => [
  ...['find', `${root}/ostree/deploy/${finalStateroot}/deploy`, '-maxdepth', '1'],
  ...['-name', '*.origin', '-exec', 'cat', '{}', '+'],
];

/** The images in the output of `originsArgv`; deployments of the disk image itself have none. */
export const imagesIn = (stdout: string): readonly string[] =>
  stdout.split('\n').flatMap((line) => {
    const reference = referenceIn(line);
    return reference === undefined ? [] : [readOrigin(reference).spec];
  });

/**
 * Refuses a disk that does not follow an image, or that follows an image in the registry that was
 * only the source of the pull. Another image of an earlier run may remain.
 * @param wanted.image pull spec that one of the deployments must follow
 * @param wanted.source pull spec of the pull: no deployment may follow an image of that registry,
 * unless `image` is there too
 * @throws AgentError `image.wrong-origin`
 */
export function refuseOrigins(
  stdout: string,
  { image, source }: { readonly image: string; readonly source: string },
): void {
  const images = imagesIn(stdout);
  const passing = registryOf(source) === registryOf(image) ? undefined : registryOf(source);
  const wrong = images.filter((found) => registryOf(found) === passing || found === source);
  if (images.includes(image) && wrong.length === 0) return;
  const found = [wrong, images].find((list) => list.length > 0)?.join(', ') ?? 'nothing';
  const what = `the disk would update from ${found} instead of ${image}`;
  throw imageFailure('image.wrong-origin', what, { context: { found, image } });
}

const registryOf = (pullSpec: string): string => pullSpec.split('/')[0] ?? '';

/** A host without SELinux has nothing to restore. */
async function isEnforcing({ host, signal, note }: HostScope): Promise<boolean> {
  try {
    const { stdout } = await host.exec(['getenforce'], { signal, limit: minutes(2) });
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

/**
 * The failure of a deployment. Errors that are not from its commands, such as a stop, stay
 * unchanged.
 */
export function deployFailure(cause: unknown, image: string): AgentError {
  const error = asAgentError(cause);
  if (error.code !== 'command.failed') return error;
  const { kind, cause: said } = readPullError(String(error.context['stderr'] ?? ''));
  const code = kind === undefined ? 'image.deploy-failed' : (`image.${kind}` as const);
  return imageFailure(code, `${image}: ${said ?? error.message}`, { cause, context: { image } });
}

/**
 * The consequence of a failed deployment for the first boot. ostree makes a deployment bootable
 * atomically, in its last action, so the disk boots the system of its image in either case. Whether
 * the node can switch to the final image by itself depends on the cause: a registry may come back,
 * but room and another processor will not.
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

/** Version 3.4: the machine-config-server of every OpenShift since 4.15 can serve it. */
const accept = 'application/vnd.coreos.ignition+json; version=3.4.0';

/** Rendered configs have several MB; a larger file is not one. */
const largestBytes = 64 * 1024 ** 2;

/** Failures that may pass while the machine-config-server starts. */
const passing: readonly FailureKind[] = ['remote', 'media', 'limit'];

/**
 * Reads the Ignition config on the disk to find the operating system that the first boot would
 * switch to. The machine-config-server may not be up yet; the function waits for it.
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
 * Reads the config that the Ignition config on the disk points to, and waits for the
 * machine-config-server. An error of `read` of a kind that may pass is retried too.
 * @throws AgentError `ignition.*`, `wait.timed-out`, and those of `read`
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
        pointer.kind === 'embedded'
          ? pointer.content
          : await fetchRendered(web, pointer, { limit: within, signal: at });
      return { done: read(rendered) };
    } catch (error) {
      at.throwIfAborted();
      // Waiting does not complete an embedded config.
      if (pointer.kind === 'embedded' || !passing.includes(asAgentError(error).kind)) throw error;
      return { status: asAgentError(error).message };
    }
  };
  const limits = { every: seconds(5), within };
  return until('the rendered config of this pool can be read', poll, limits);
}

/**
 * Time limit of the wait for the machine-config-server. A bootstrap host that builds OS images
 * blocks the server until two of them exist, and other hosts have no other sign of that.
 */
const serverTimeout = ({ mode, buildMinutes }: StepScope<never>['config']['layering']): Millis =>
  minutes(mode === 'off' ? 20 : 20 + 2 * buildMinutes);

async function fetchRendered(
  web: Web,
  { url, resource, certificateAuthorities: ca }: RemotePointer,
  request: Pick<WebRequest, 'limit' | 'signal'>,
): Promise<Uint8Array> {
  const trust = ca === '' ? {} : { ca, caOnly: true };
  const { body, origin } = await web.open(url, {
    ...request,
    peer: 'the machine-config-server',
    accept,
    ...trust,
  });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes !== undefined) return decodeContent(resource, bytes);
  throw ignitionSourceFailure('ignition.oversized', `${shownUrl(origin)} sends more than 64 MiB`, {
    context: { origin: shownUrl(origin) },
  });
}
