import { type Millis, minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { bootc, type BootcFinding, findBootc } from '../../os/bootc.ts';
import { chooseDriver, drivers, type OsFindings } from '../../os/choose-driver.ts';
import { type Argv, asksForChange, bootEntryArguments, type DriverName } from '../../os/driver.ts';
import { osFailure } from '../../os/failures.ts';
import type { OsStatus } from '../../os/status.ts';
import type { HostLock } from '../../ports/host.ts';
import { kernelArgumentsIn, unreadableOutput } from '../host-commands.ts';
import type { HostScope } from '../step.ts';
import { type CommandScope, OsSnapshot, nodeStep } from './step.ts';

/** Written by ostree-prepare-root in the initramfs of every ostree system. */
const bootedMarkArgv = ['test', '-e', '/run/ostree-booted'] as const;
const rpmOstreeArgv = ['rpm-ostree', '--version'] as const;
const ostreeContainerArgv = ['ostree', 'container', 'image', '--help'] as const;

/** rpm-ostree starts its service first, and waits for another that works. */
const limit = minutes(2);

/**
 * Looks which program changes the host's operating system, and asks it for the status.
 * @throws AgentError `os.not-managed`, `os.no-driver`, `os.status-not-read`
 */
export async function readHost(asked: HostScope, changesArguments = false): Promise<OsSnapshot> {
  const choice = chooseDriver(await findPrograms(asked), changesArguments);
  const status = await readStatus(asked, choice.driver);
  const commandLine = (await asked.host.readText('/proc/cmdline', asked.signal)) ?? '';
  return { ...choice, status, commandLine: commandLine.trim() };
}

/** Entries of the boot loader, written by ostree. */
const entriesFolder = '/boot/loader/entries';

/**
 * The kernel arguments of the deployment that runs, or of what boots next, with their quotes; where neither the driver nor the boot
 * loader knows them, undefined.
 * @throws AgentError `command.unreadable`
 */
export async function readArguments(
  { host, signal }: HostScope,
  { driver, status, commandLine }: OsSnapshot,
  of: 'booted' | 'next' = 'booted',
): Promise<readonly string[] | undefined> {
  const argv = drivers[driver].argumentsArgv?.(of === 'next' ? 0 : status.booted?.index);
  if (argv !== undefined) {
    const { stdout } = await host.exec(argv, { signal, limit });
    // At least where its root is, every deployment has.
    if (stdout !== '') return kernelArgumentsIn(driver, stdout);
    throw unreadableOutput(driver, 'kernel arguments', stdout);
  }
  const entries: string[] = [];
  for (const name of await host.list(entriesFolder, signal)) {
    entries.push((await host.readText(`${entriesFolder}/${name}`, signal)) ?? '');
  }
  return bootEntryArguments(entries, commandLine);
}

/**
 * Asks a driver for the status.
 * @throws AgentError `os.status-not-read`
 */
export async function readStatus(asked: HostScope, name: DriverName): Promise<OsStatus> {
  const { host, signal } = asked;
  const driver = drivers[name];
  const { stdout } = await host.exec(driver.statusArgv, { signal, limit });
  const details: string[] = [];
  for (const argv of driver.detailArgvs(stdout)) details.push((await ask(asked, argv)) ?? '');
  const status = driver.readStatus(stdout, details);
  if (status.booted !== undefined) return status;
  throw osFailure('os.status-not-read', `${name} names no booted system`);
}

async function findPrograms(asked: HostScope): Promise<OsFindings> {
  const said = await ask(asked, bootc.statusArgv);
  const found: BootcFinding =
    said === undefined ? { kind: 'absent', why: 'there is no bootc' } : findBootc(said);
  return {
    bootc: found,
    isOstree: (await ask(asked, bootedMarkArgv)) !== undefined,
    hasRpmOstree: (await ask(asked, rpmOstreeArgv)) !== undefined,
    hasOstreeContainer: (await ask(asked, ostreeContainerArgv)) !== undefined,
  };
}

/** What a command prints, or undefined if absent of that name, or it fails. */
export async function ask({ host, signal }: HostScope, argv: Argv): Promise<string | undefined> {
  try {
    return (await host.exec(argv, { signal, limit })).stdout;
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

/** Locks the host against other commands of Bootwright as long as the process lives. */
export const lockNode = nodeStep({
  id: 'os/lock',
  title: 'Lock the operating system against other bootwright commands',
  uses: ['host'],
  rerun: 'always',
  limit: seconds(30),
  run: async (scope) => {
    await lockHost(scope);
  },
});

/** @throws AgentError `os.busy` */
export async function lockHost({ host, signal }: HostScope): Promise<HostLock> {
  const lock = await host.lock(lockName, signal);
  if (lock !== undefined) return lock;
  throw osFailure('os.busy', 'another bootwright node command is running on this host');
}

/** Looks what the host runs, and by which program that is changed. */
export const inspectHost = nodeStep({
  id: 'os/look',
  title: 'Inspect the operating system of the host',
  uses: ['host'],
  gives: OsSnapshot,
  preflight: true,
  limit: minutes(10),
  preview: () => [bootc.statusArgv],
  run: async (scope) => {
    const { host, signal, note, config } = scope;
    const snapshot = await readHost({ host, signal }, asksForChange(config.kernelArguments));
    note('info', `the driver is ${snapshot.driver}: ${snapshot.reason}`, {
      driver: snapshot.driver,
    });
    await checkOperator(scope);
    return snapshot;
  },
});

/** A record is for nodes of the operator alone; without one the operator and the image may differ. */
async function checkOperator({
  host,
  signal,
  note,
  config: { records },
}: CommandScope): Promise<void> {
  const found = await ask({ host, signal }, ['test', '-e', machineConfigFile]);
  if (records && found === undefined) {
    throw osFailure('os.not-operators', `${machineConfigFile} is not on this host`);
  }
  if (records || found === undefined) return;
  note(
    'warn',
    'the Machine Config Operator manages this node: it marks the node degraded, or moves it back, unless its MachineConfig names the same image',
  );
}

/** Where ostree-rs-ext looks for pull secrets, in its order; bootc and rpm-ostree are built on it. */
const ostreeAuthFiles = [
  '/run/ostree/auth.json',
  '/etc/ostree/auth.json',
  '/usr/lib/ostree/auth.json',
] as const;

/** Pull secrets of an OpenShift node. */
const kubeletAuthFile = '/var/lib/kubelet/config.json';

/** Finds the pull secrets that a pull will use. ostree does not look for those of the kubelet by itself. */
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

/** A pull of a whole image over a slow line. */
const pullLimit = minutes(60);

/** Below the limit of the steps that pull nothing, which would not name the command. */
export const localLimit = minutes(15);

/** Runs commands that change the host, one after the other; what they say is the step's progress. */
export async function runCommands(
  { host, signal, progress }: Pick<CommandScope, 'host' | 'signal' | 'progress'>,
  argvs: readonly Argv[],
  longest: Millis = pullLimit,
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
