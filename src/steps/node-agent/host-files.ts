import { Buffer } from 'node:buffer';
import { dirname } from 'node:path/posix';
import { minutes } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import type { WantedFile, WantedHost, WantedUnit } from './wanted-host.ts';

interface ReachedHost {
  readonly host: Host;
  readonly signal: AbortSignal;
}

/** What is to be written to a host so that it has what a MachineConfig asks for. */
export interface HostChange {
  readonly write: readonly WantedFile[];
  /** Files of the MachineConfig before that the new one has no more. */
  readonly remove: readonly string[];
  readonly units: readonly WantedUnit[];
}

/** Compares a host with what it should have; `before` is what it was given earlier. */
export async function hostChange(
  at: ReachedHost,
  wanted: WantedHost,
  before: WantedHost | undefined,
): Promise<HostChange> {
  const write: WantedFile[] = [];
  for (const file of wanted.files) {
    const earlier = before?.files.find(({ path }) => path === file.path);
    if (hasOtherRights(file, earlier) || !(await holds(at, file))) write.push(file);
  }
  const kept = new Set(wanted.files.map(({ path }) => path));
  const remove: string[] = [];
  for (const { path } of before?.files ?? []) {
    if (!kept.has(path) && (await at.host.readText(path, at.signal)) !== (await shipped(at, path)))
      remove.push(path);
  }
  const units: WantedUnit[] = [];
  for (const unit of wanted.units) {
    if (isOther(unit, await unitState(at, unit.name))) units.push(unit);
  }
  return { write, remove, units };
}

const hasOtherRights = (file: WantedFile, earlier: WantedFile | undefined): boolean =>
  earlier !== undefined && (earlier.mode !== file.mode || earlier.owner !== file.owner);

async function holds({ host, signal }: ReachedHost, file: WantedFile): Promise<boolean> {
  const text = await host.readText(file.path, signal);
  return text === Buffer.from(file.content).toString('utf8');
}

/** What the running image has at a path of /etc: what is equal to it follows the next image by itself. */
const shipped = ({ host, signal }: ReachedHost, path: string): Promise<string | undefined> =>
  path.startsWith('/etc/') ? host.readText(`/usr${path}`, signal) : Promise.resolve(undefined);

async function unitState({ host, signal }: ReachedHost, name: string): Promise<string> {
  const argv = ['systemctl', 'is-enabled', name] as const;
  // What is not enabled, and what does not exist, is an answer.
  const { stdout } = await host.exec(argv, { signal, limit: minutes(1), accept: [0, 1, 4] });
  return stdout === '' ? 'not-found' : stdout;
}

/** Whether a unit has another state; what systemd starts by itself, and what comes with no image, is left. */
export function isOther({ state, hasFile }: WantedUnit, found: string): boolean {
  if (state === 'masked') return found !== 'masked';
  if (state === 'disabled') return found === 'enabled';
  return found === 'disabled' || found === 'masked' || (found === 'not-found' && hasFile);
}

/** Whether there is anything to be written. */
export const isChange = ({ write, remove, units }: HostChange): boolean =>
  write.length + remove.length + units.length > 0;

/** What is to be written, for people: names and never content. */
export const changedNames = ({ write, remove, units }: HostChange): string =>
  [...write.map(({ path }) => path), ...remove, ...units.map(({ name }) => name)]
    .slice(0, 10)
    .join(', ');

/** Writes to the host what differs. Each part may be repeated. */
export async function applyChange(at: ReachedHost, change: HostChange): Promise<void> {
  for (const file of change.write) await writeFile(at, file);
  for (const path of change.remove) await resetFile(at, path);
  if (change.units.length > 0) await run(at, ['systemctl', 'daemon-reload']);
  for (const { name, state } of change.units) {
    if (state === 'masked') await run(at, ['systemctl', 'mask', name]);
    else {
      if (state === 'enabled') await run(at, ['systemctl', 'unmask', name]);
      await run(at, ['systemctl', state === 'enabled' ? 'enable' : 'disable', name]);
    }
  }
}

const sshFolder = /^(.*\/\.ssh)\/authorized_keys\.d\/ignition$/;

async function writeFile(at: ReachedHost, file: WantedFile): Promise<void> {
  const { path, content, mode, owner } = file;
  const { host, signal } = at;
  await run(at, ['mkdir', '-p', dirname(path)]);
  await host.writeFile(path, content, { signal, mode });
  if (owner === undefined) return;
  const ssh = sshFolder.exec(path)?.[1];
  await run(at, ssh === undefined ? ['chown', owner, path] : ['chown', '-R', owner, ssh]);
}

async function resetFile(at: ReachedHost, path: string): Promise<void> {
  const text = await shipped(at, path);
  if (text === undefined) await at.host.remove(path, at.signal);
  else await at.host.writeFile(path, text, { signal: at.signal, mode: 0o644 });
}

/** Runs a short command that changes the host. */
export async function run({ host, signal }: ReachedHost, argv: readonly string[]): Promise<void> {
  await host.exec(argv, { signal, limit: minutes(2) });
}
