import { minutes } from '../../model/duration.ts';
import { argumentsIn } from '../../os/kernel-arguments.ts';
import { readBootId, unreadableOutput } from '../../steps/host-commands.ts';
import { readArguments, readFinalizeError, readHost } from '../../steps/os/read-host.ts';
import type { CommandScope, OsSnapshot } from '../../steps/os/request.ts';
import type { Marker } from './marker.ts';
import type { WantedHost } from './wanted-host.ts';

/** The state of a host, read once before the decision of a pass. */
export interface HostSnapshot {
  readonly bootId: string;
  readonly os: OsSnapshot;
  /** The kernel arguments of the running deployment; empty if no MachineConfig has any. */
  readonly kernelArguments: readonly string[];
  /** By path; missing files have no entry. */
  readonly files: ReadonlyMap<string, FoundFile>;
  /** Result of `systemctl is-enabled` for each unit, by its name. */
  readonly units: ReadonlyMap<string, string>;
  /** Hash of the password of core; undefined if it is not needed, or the user does not exist. */
  readonly password: string | undefined;
  /** The error with which a staged deployment was not finalized during shutdown. */
  readonly notFinalized: string | undefined;
}

/** A host and a signal that ends its reads and writes. */
export type ReachedHost = Pick<CommandScope, 'host' | 'signal'>;

/** A file of a host. */
export interface FoundFile {
  /**
   * SHA-256 of its bytes in hexadecimal digits, because binary content must not be compared as
   * text.
   */
  readonly sum: string;
  readonly mode: number;
  /** Its owner and its group, each by name and by number. */
  readonly owners: readonly (readonly string[])[];
}

/**
 * Reads the parts of a host that some MachineConfigs configure: all its previous, current and
 * possible ones.
 * @throws AgentError `os.*`, `command.*`
 */
export async function readHostSnapshot(
  at: ReachedHost,
  configs: readonly WantedHost[],
  marker: Marker | undefined,
): Promise<HostSnapshot> {
  const os = await readHost(at);
  const bootId = await readBootId(at.host, at.signal);
  const areConfigured = configs.some((one) => one.kernelArguments.length > 0);
  const isBack = marker?.phase === 'rebooting' && marker.bootId !== bootId;
  return {
    bootId,
    os,
    // As they were set, or as the kernel shows them if that is unknown.
    kernelArguments: areConfigured
      ? ((await readArguments(at, os)) ?? argumentsIn(os.commandLine))
      : [],
    ...(await readConfigured(at, configs)),
    notFinalized: isBack ? await readFinalizeError(at) : undefined,
  };
}

/**
 * Reads the configured parts of some MachineConfigs: their files, units, and the password of core
 * if they differ in it.
 * @throws AgentError `command.*`
 */
export async function readConfigured(
  at: ReachedHost,
  configs: readonly WantedHost[],
): Promise<Pick<HostSnapshot, 'files' | 'units' | 'password'>> {
  const passwords = new Set(configs.map(({ password }) => password));
  return {
    files: await readFiles(at, configs),
    units: await readUnits(at, configs),
    password: passwords.size > 1 ? await readPassword(at) : undefined,
  };
}

/**
 * The path of the running image's file for a path of /etc: an equal file follows the next image by
 * itself.
 */
export const shippedPath = (path: string): string | undefined =>
  path.startsWith('/etc/') ? `/usr${path}` : undefined;

async function readUnits(
  at: ReachedHost,
  configs: readonly WantedHost[],
): Promise<HostSnapshot['units']> {
  const found = new Map<string, string>();
  for (const { name } of configs.flatMap(({ units }) => units))
    if (!found.has(name)) found.set(name, await unitState(at, name));
  return found;
}

/**
 * The state of a unit in `systemctl is-enabled`; `not-found` for a missing unit.
 * @throws AgentError `command.unreadable`
 */
export async function unitState({ host, signal }: ReachedHost, name: string): Promise<string> {
  const argv = ['systemctl', 'is-enabled', name] as const;
  // The exit codes of disabled and of missing units are answers.
  const { stdout } = await host.exec(argv, { signal, limit: minutes(2), accept: [0, 1, 4] });
  if (/^[a-z-]*$/.test(stdout)) return stdout === '' ? 'not-found' : stdout;
  throw unreadableOutput('systemctl', `state of ${name}`, stdout);
}

async function readPassword({ host, signal }: ReachedHost): Promise<string | undefined> {
  const argv = ['getent', 'shadow', 'core'] as const;
  const options = { signal, limit: minutes(2), accept: [0, 2] };
  const { exitCode, stdout } = await host.exec(argv, options);
  if (exitCode === 2) return undefined;
  const hash = /^core:([^:]*):/.exec(stdout)?.[1];
  if (hash === undefined) throw unreadableOutput('getent', 'entry of core', '');
  return hash;
}

/**
 * The existing files, and the image's files for the same paths.
 * @throws AgentError `command.unreadable`, also where a path is not a regular file
 */
async function readFiles(
  { host, signal }: ReachedHost,
  configs: readonly WantedHost[],
): Promise<HostSnapshot['files']> {
  const own = configs.flatMap(({ files }) => files.map(({ path }) => path));
  const paths = [...new Set([...own, ...own.flatMap((path) => shippedPath(path) ?? [])])];
  if (paths.length === 0) return new Map();
  // A missing file is an answer.
  const options = { signal, limit: minutes(2), accept: [0, 1] };
  // A name may contain a backslash, as in mount units: sha256sum escapes it, unless each record
  // ends with a zero byte.
  const format = String.raw`--printf=%a %U:%G %u:%g %n\0`;
  const stat = await host.exec(['stat', '-L', format, '--', ...paths], options);
  const summed = await host.exec(['sha256sum', '--zero', '--', ...paths], options);
  const rights = new Map(
    stat.stdout.split('\0').flatMap((line) => {
      const parts = /^([0-7]{1,5}) ([^: ]+):([^: ]+) (\d+):(\d+) (\/.*)$/s.exec(line);
      const [, mode = '', user = '', group = '', uid = '', gid = '', path = ''] = parts ?? [];
      const owners = [
        [user, uid],
        [group, gid],
      ];
      return parts === null ? [] : [[path, { mode: Number.parseInt(mode, 8), owners }] as const];
    }),
  );
  const sums = new Map(
    summed.stdout.split('\0').flatMap((line) => {
      const [, sum = '', path] = /^([0-9a-f]{64}) [ *](.*)$/s.exec(line) ?? [];
      return path === undefined ? [] : [[path, sum] as const];
    }),
  );
  return new Map(
    paths.flatMap((path) => {
      const [right, sum] = [rights.get(path), sums.get(path)];
      if (right === undefined && sum === undefined) return [];
      if (right === undefined) throw unreadableOutput('stat', `mode of ${path}`, stat.stdout);
      if (sum === undefined) throw unreadableOutput('sha256sum', `sum of ${path}`, summed.stdout);
      return [[path, { ...right, sum }] as const];
    }),
  );
}
