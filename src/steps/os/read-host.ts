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

/** Written by ostree-prepare-root in the initramfs of every ostree system. */
const bootedMarkArgv = ['test', '-e', '/run/ostree-booted'] as const;
const rpmOstreeArgv = ['rpm-ostree', '--version'] as const;

/** rpm-ostree starts its service first, and bootc waits for another that works. */
const limit = minutes(2);

/**
 * Looks which program changes the host's operating system, and asks it for the status.
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
 * Chooses the program: bootc where it booted the host and can change kernel arguments so, else
 * rpm-ostree; both keep the image in the same place.
 */
async function chooseDriver(
  asked: HostScope,
  change: KernelArgumentChange,
): Promise<Pick<OsSnapshot, 'driver' | 'reason'>> {
  const said = await answerOr(asked, askBootc(asked));
  const because = said === undefined ? 'there is no bootc' : refusalOfBootc(said);
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

/**
 * Why bootc cannot change kernel arguments so; undefined where it can. It takes out none but those
 * that it keeps for us.
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

/** Entries of the boot loader, written by ostree. */
const entriesFolder = '/boot/loader/entries';

type BootEntry = NonNullable<ReturnType<typeof readBootEntry>>;

/**
 * The entry of the boot loader that boots a deployment. Its `ostree=` says nothing of that by
 * itself: the numbers in it change with each change of the order, and only the link behind it leads
 * to the deployment.
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

/** The kernel arguments of what runs that bootc keeps for us. */
export async function readOwnArguments(
  asked: HostScope,
  { status }: OsSnapshot,
): Promise<readonly string[]> {
  const entry = await readEntry(asked, status.booted);
  return entry === undefined ? [] : ownArguments(entry);
}

/**
 * The kernel arguments of the deployment that runs, or of what boots next, with their quotes;
 * undefined where nobody knows them: bootc does not show those of what is staged.
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
  // At least where its root is, every deployment has.
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

/** Programs that take the lock of the sysroot. */
const lockingArgv = ['pgrep', '--list-full', '--exact', 'bootc|ostree|rpm-ostree'] as const;

/** @throws AgentError `os.busy` where another holds the sysroot for two minutes */
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

/** What a command prints, or undefined if absent of that name, or it fails. */
export const ask = (asked: HostScope, argv: readonly string[]): Promise<string | undefined> =>
  answerOr(
    asked,
    asked.host.exec(argv, { signal: asked.signal, limit }).then(({ stdout }) => stdout),
  );

async function answerOr(
  { signal }: HostScope,
  asking: Promise<string>,
): Promise<string | undefined> {
  try {
    return await asking;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError && answers.has(error.code)) return undefined;
    throw error;
  }
}

const answers: ReadonlySet<string> = new Set(['command.failed', 'command.not-found']);

/** Left by the Machine Config Daemon on every node that it manages. */
export const machineConfigFile = '/etc/machine-config-daemon/currentconfig';

/** Two commands of Bootwright must not change one host; other programs keep their own locks. */
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

/**
 * Where ostree-rs-ext looks for pull secrets, in its order; bootc and rpm-ostree are built on it.
 */
const ostreeAuthFiles = [
  '/run/ostree/auth.json',
  '/etc/ostree/auth.json',
  '/usr/lib/ostree/auth.json',
] as const;

/** Pull secrets of an OpenShift node. */
const kubeletAuthFile = '/var/lib/kubelet/config.json';

/**
 * Finds the pull secrets that a pull will use. ostree does not look for those of the kubelet by
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
 * Lets ostree find the pull secrets of the kubelet, as the Machine Config Daemon does; the link is
 * gone with the next boot.
 */
export const linkAuthArgvs = [
  ['mkdir', '-p', '/run/ostree'],
  ['ln', '-sfn', kubeletAuthFile, ostreeAuthFiles[0]],
] as const;

/**
 * Runs commands that change the host, one after the other; what they say is the step's progress.
 */
export async function runCommands(
  { host, signal, progress }: Pick<CommandScope, 'host' | 'signal' | 'progress'>,
  argvs: readonly (readonly string[])[],
  longest: Millis = minutes(15),
): Promise<void> {
  for (const argv of argvs) {
    await host.exec(argv, {
      signal,
      limit: longest,
      onLine: (line) => {
        if (line.trim() !== '') progress({ info: line.trim().slice(0, 200) });
      },
    });
  }
}

/**
 * What the unit said that writes what is staged to the boot loader, when the host went down last.
 */
const finalizeJournalArgv = [
  ...['journalctl', '--boot=-1', '--unit=ostree-finalize-staged.service'],
  ...['--output=cat', '--no-pager', '--lines=50'],
] as const;

/**
 * Why what was staged was not booted, in the words of ostree; undefined where it said no error, or
 * nobody keeps the journal.
 */
export async function readFinalizeError(asked: HostScope): Promise<string | undefined> {
  const said = (await ask(asked, finalizeJournalArgv)) ?? '';
  return [...said.matchAll(/^error: (.+)$/gm)].at(-1)?.[1]?.slice(0, 300);
}
