import { type Millis, minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import {
  argumentSource,
  bootcStatusArgv,
  keepsArgumentSources,
  readBootcStatus,
  refusalOfBootc,
  rebootRequiredPath,
} from '../../os/bootc.ts';
import { osFailure } from '../../os/failures.ts';
import {
  asksForChange,
  type KernelArgumentChange,
  readBootEntry,
  without,
} from '../../os/kernel-arguments.ts';
import {
  readRpmOstreeStatus,
  rpmOstreeArgumentsArgv,
  rpmOstreeStatusArgv,
} from '../../os/rpm-ostree.ts';
import type { OsDeployment, OsStatus } from '../../os/status.ts';
import type { HostLock } from '../../ports/host.ts';
import { kernelArgumentsIn, unreadableOutput } from '../host-commands.ts';
import type { HostScope } from '../step.ts';
import type { CommandScope, DriverName, OsSnapshot } from './request.ts';

/** Tests for the file that ostree-prepare-root writes in the initramfs of every ostree system. */
const bootedMarkArgv = ['test', '-e', '/run/ostree-booted'] as const;
const rpmOstreeArgv = ['rpm-ostree', '--version'] as const;

/** rpm-ostree starts its service first, and bootc waits for another running instance. */
const limit = minutes(2);

/**
 * Determines which program changes the host's operating system, and asks it for the status.
 * @throws AgentError `os.not-managed`, `os.no-driver`, `os.busy`,
 * `os.kernel-arguments-unsupported`, `os.status-not-read`
 */
export async function readHost(
  asked: HostScope,
  change: KernelArgumentChange = { append: [], remove: [] },
): Promise<OsSnapshot> {
  const choice = await chooseDriver(asked, change);
  const status = await readStatus(asked, choice.driver);
  const commandLine = (await asked.host.readText('/proc/cmdline', asked.signal)) ?? '';
  return { ...choice, status, commandLine: commandLine.trim() };
}

/**
 * Chooses the program: bootc if it booted the host and supports the requested kernel arguments,
 * otherwise rpm-ostree; both keep the image in the same place.
 */
async function chooseDriver(
  asked: HostScope,
  change: KernelArgumentChange,
): Promise<Pick<OsSnapshot, 'driver' | 'reason'>> {
  const because = await askRefusal(asked);
  const hasRpmOstree = (await ask(asked, rpmOstreeArgv)) !== undefined;
  if (because === undefined) {
    const refusal = asksForChange(change) ? await refusalOf(asked, change) : undefined;
    if (refusal === undefined) return { driver: 'bootc', reason: 'this host was booted by bootc' };
    if (hasRpmOstree)
      return { driver: 'rpm-ostree', reason: `kernel arguments change: ${refusal}` };
    const what = `${refusal}, and the host has no rpm-ostree`;
    throw osFailure('os.kernel-arguments-unsupported', what);
  }
  if ((await ask(asked, bootedMarkArgv)) === undefined) {
    const what = `the running system is not an ostree deployment, and ${because}`;
    throw osFailure('os.not-managed', what);
  }
  if (hasRpmOstree)
    return { driver: 'rpm-ostree', reason: `rpm-ostree is available, and ${because}` };
  throw osFailure('os.no-driver', `there is no rpm-ostree, and ${because}`);
}

/** The reason why bootc cannot change this host; undefined if it can. */
async function askRefusal(asked: HostScope): Promise<string | undefined> {
  try {
    return refusalOfBootc(await askBootc(asked));
  } catch (error) {
    asked.signal.throwIfAborted();
    if (!(error instanceof AgentError) || !answers.has(error.code)) throw error;
    return error.code === 'command.failed' ? error.message : 'there is no bootc';
  }
}

/**
 * The reason why bootc cannot make the requested change of kernel arguments; undefined if it can.
 * It removes only arguments of Bootwright's source.
 */
async function refusalOf(
  asked: HostScope,
  { append, remove }: KernelArgumentChange,
): Promise<string | undefined> {
  const [bootc, ostree] = ['bootc', 'ostree'].map((program) => ask(asked, [program, '--version']));
  if (!keepsArgumentSources((await bootc) ?? '', (await ostree) ?? ''))
    return 'bootc changes none before its version 1.15.2, with ostree 2026.1';
  const entry = await readEntry(asked, (await readStatus(asked, 'bootc')).booted);
  if (entry === undefined) return 'no boot loader entry boots the running deployment';
  const foreign = without(entry.kernelArguments, ownArguments(entry));
  const going = without(remove, append).find((argument) => foreign.includes(argument));
  return going === undefined ? undefined : `bootc removes none but its own, and not ${going}`;
}

/** Folder of the boot loader entries, written by ostree. */
const entriesFolder = '/boot/loader/entries';

type BootEntry = NonNullable<ReturnType<typeof readBootEntry>>;

/**
 * The boot loader entry of a deployment. Its `ostree=` does not identify the deployment: the index
 * in it changes with each change of the order, and only the target of its link does.
 */
async function readEntry(
  { host, signal }: HostScope,
  deployment: OsDeployment | undefined,
): Promise<BootEntry | undefined> {
  const { checksum = '', serial = 0 } = deployment ?? {};
  for (const name of await host.list(entriesFolder, signal)) {
    const entry = readBootEntry((await host.readText(`${entriesFolder}/${name}`, signal)) ?? '');
    if (entry === undefined) continue;
    const folder = await host.realPath(entry.link, signal);
    if (folder?.endsWith(`/${checksum}.${serial}`) === true) return entry;
  }
  return undefined;
}

const ownArguments = ({ sources }: BootEntry): readonly string[] =>
  sources.get(argumentSource) ?? [];

/** The kernel arguments of the running deployment that bootc keeps under Bootwright's source. */
export async function readOwnArguments(
  asked: HostScope,
  { status }: OsSnapshot,
): Promise<readonly string[]> {
  const entry = await readEntry(asked, status.booted);
  return entry === undefined ? [] : ownArguments(entry);
}

/**
 * The kernel arguments of the running deployment, or of the next one, with their quotes; undefined
 * if unknown: bootc does not show the arguments of a staged deployment.
 * @throws AgentError `command.unreadable`
 */
export async function readArguments(
  asked: HostScope,
  { driver, status }: OsSnapshot,
  of: 'booted' | 'next' = 'booted',
): Promise<readonly string[] | undefined> {
  if (driver === 'bootc') {
    const { booted, pending, staged } = status;
    if (of === 'next' && staged !== undefined) return undefined;
    return (await readEntry(asked, (of === 'next' ? pending : undefined) ?? booted))
      ?.kernelArguments;
  }
  const { host, signal } = asked;
  const argv = rpmOstreeArgumentsArgv(of === 'next' ? 0 : status.booted?.index);
  const { stdout } = await host.exec(argv, { signal, limit });
  // Every deployment has at least the argument of its root.
  if (stdout !== '') return kernelArgumentsIn(driver, stdout);
  throw unreadableOutput(driver, 'kernel arguments', stdout);
}

/**
 * Asks a program for the status.
 * @throws AgentError `os.status-not-read`, `os.busy`
 */
export async function readStatus(asked: HostScope, name: DriverName): Promise<OsStatus> {
  const { host, signal } = asked;
  const status =
    name === 'bootc'
      ? readBootcStatus(await askBootc(asked), await host.readText(rebootRequiredPath, signal))
      : readRpmOstreeStatus((await host.exec(rpmOstreeStatusArgv, { signal, limit })).stdout);
  if (status.booted !== undefined) return status;
  throw osFailure('os.status-not-read', `${name} names no booted system`);
}

/** Programs that lock the sysroot. */
const lockingArgv = ['pgrep', '--list-full', '--exact', 'bootc|ostree|rpm-ostree'] as const;

/** @throws AgentError `os.busy` if another program locks the sysroot for two minutes */
async function askBootc(asked: HostScope): Promise<string> {
  const { host, signal } = asked;
  try {
    return (await host.exec(bootcStatusArgv, { signal, limit })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'command.timed-out') throw error;
    const [found] = (await ask(asked, lockingArgv))?.split('\n') ?? [];
    const who = found === undefined ? 'another bootc' : `process ${found.trim()}`;
    throw osFailure('os.busy', `${who} holds the sysroot`, { cause: error });
  }
}

/** The output of a command; undefined if the program is missing or fails. */
export async function ask(
  { host, signal }: HostScope,
  argv: readonly string[],
): Promise<string | undefined> {
  try {
    return (await host.exec(argv, { signal, limit })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError && answers.has(error.code)) return undefined;
    throw error;
  }
}

const answers: ReadonlySet<string> = new Set(['command.failed', 'command.not-found']);

/** A file of the Machine Config Daemon on every node that it manages. */
export const machineConfigFile = '/etc/machine-config-daemon/currentconfig';

/** Excludes a second Bootwright command on one host; other programs have their own locks. */
const lockName = 'bootwright-node';

/**
 * Locks the host against other commands of Bootwright.
 * @throws AgentError `os.busy`
 */
export async function lockHost({ host, signal }: HostScope): Promise<HostLock> {
  const lock = await host.lock(lockName, signal);
  if (lock !== undefined) return lock;
  throw osFailure('os.busy', 'another bootwright node command is running on this host');
}

/** Paths of pull secrets in ostree-rs-ext, in its order; bootc and rpm-ostree are built on it. */
const ostreeAuthFiles = [
  '/run/ostree/auth.json',
  '/etc/ostree/auth.json',
  '/usr/lib/ostree/auth.json',
] as const;

/** Pull secrets of an OpenShift node. */
const kubeletAuthFile = '/var/lib/kubelet/config.json';

/**
 * Finds the pull secret that a pull will use. ostree does not read the kubelet's pull secret by
 * itself.
 */
export async function findAuthFile(
  asked: HostScope,
): Promise<{ readonly path: string; readonly isKubelets: boolean } | undefined> {
  for (const path of [...ostreeAuthFiles, kubeletAuthFile]) {
    if ((await ask(asked, ['test', '-e', path])) !== undefined) {
      return { path, isKubelets: path === kubeletAuthFile };
    }
  }
  return undefined;
}

/**
 * Makes ostree find the pull secret of the kubelet, as the Machine Config Daemon does; the link
 * ends with the next boot.
 */
export const linkAuthArgvs = [
  ['mkdir', '-p', '/run/ostree'],
  ['ln', '-sfn', kubeletAuthFile, ostreeAuthFiles[0]],
] as const;

/** Shows the lines of a command as the progress of its step. */
export const showLines =
  (progress: CommandScope['progress']) =>
  (line: string): void => {
    const info = line.trim().slice(0, 200);
    if (info !== '') progress({ info });
  };

/** Runs commands that change the host, in sequence; their output is the step's progress. */
export async function runCommands(
  { host, signal, progress }: Pick<CommandScope, 'host' | 'signal' | 'progress'>,
  argvs: readonly (readonly string[])[],
  longest: Millis = minutes(15),
): Promise<void> {
  for (const argv of argvs) {
    await host.exec(argv, { signal, limit: longest, onLine: showLines(progress) });
  }
}

/**
 * The log of the last shutdown from the unit that writes the staged deployment to the boot loader.
 */
const finalizeJournalArgv = [
  ...['journalctl', '--boot=-1', '--unit=ostree-finalize-staged.service'],
  ...['--output=cat', '--no-pager', '--lines=50'],
] as const;

/**
 * The error for which the staged deployment was not booted, in ostree's message; undefined if it
 * logged none or the host keeps no journal.
 */
export async function readFinalizeError(asked: HostScope): Promise<string | undefined> {
  const said = (await ask(asked, finalizeJournalArgv)) ?? '';
  return [...said.matchAll(/^error: (.+)$/gm)].at(-1)?.[1]?.slice(0, 300);
}
