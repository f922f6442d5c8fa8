import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { type BootcFinding, bootc, findBootc } from '../../os/bootc.ts';
import { chooseDriver, drivers, type OsFindings } from '../../os/choose-driver.ts';
import type { Argv, DriverName } from '../../os/driver.ts';
import { osFailure } from '../../os/failures.ts';
import type { OsStatus } from '../../os/status.ts';
import type { Host } from '../../ports/host.ts';
import type { Sight } from './facts.ts';

/** A host, and when to stop asking it. */
export interface AskedHost {
  readonly host: Host;
  readonly signal: AbortSignal;
}

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
export async function readHost(asked: AskedHost, changesArguments = false): Promise<Sight> {
  const choice = chooseDriver(await findPrograms(asked), changesArguments);
  const status = await readStatus(asked, choice.driver);
  const commandLine = (await asked.host.readText('/proc/cmdline', asked.signal)) ?? '';
  return { ...choice, status, commandLine: commandLine.trim() };
}

/**
 * Asks a driver for the status.
 * @throws AgentError `os.status-not-read`
 */
export async function readStatus(asked: AskedHost, name: DriverName): Promise<OsStatus> {
  const { host, signal } = asked;
  const driver = drivers[name];
  const { stdout } = await host.exec(driver.statusArgv, { signal, limit });
  const details: string[] = [];
  for (const argv of driver.detailArgvs(stdout)) details.push((await ask(asked, argv)) ?? '');
  const status = driver.readStatus(stdout, details);
  if (status.booted !== undefined) return status;
  throw osFailure('os.status-not-read', `${name} names no booted system`);
}

async function findPrograms(asked: AskedHost): Promise<OsFindings> {
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

/** What a command prints, or undefined when there is none of that name, or it fails. */
export async function ask({ host, signal }: AskedHost, argv: Argv): Promise<string | undefined> {
  try {
    return (await host.exec(argv, { signal, limit })).stdout;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError && answers.has(error.code)) return undefined;
    throw error;
  }
}

const answers: ReadonlySet<string> = new Set(['command.failed', 'command.not-found']);
