import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import { minutes } from '../../model/duration.ts';
import type { Host } from '../../ports/host.ts';
import { unreadableOutput } from '../../steps/host-commands.ts';
import { unitFolder, type WantedFile, type WantedHost, type WantedUnit } from './wanted-host.ts';

interface ReachedHost {
  readonly host: Host;
  readonly signal: AbortSignal;
}

/** A unit of a MachineConfig, of the one before, or of both. */
interface UnitChange {
  readonly name: string;
  readonly wanted?: WantedUnit | undefined;
  readonly before?: WantedUnit | undefined;
}

/** What is to be written to a host so that it has what a MachineConfig asks for. */
export interface HostChange {
  readonly write: readonly WantedFile[];
  /** Files of the MachineConfig before that the new one has no more. */
  readonly remove: readonly string[];
  readonly units: readonly UnitChange[];
  /** Hash of the password that core is to get. */
  readonly password?: string;
}

/** Compares a host with what it should have; `before` is what it was given earlier. */
export async function hostChange(
  at: ReachedHost,
  wanted: WantedHost,
  before: WantedHost | undefined,
): Promise<HostChange> {
  const earlier = new Map(before?.files.map((file) => [file.path, file]));
  const found = await filesOn(at, wanted.files);
  const write = wanted.files.filter((file) =>
    isDue(file, earlier.get(file.path), found.get(file.path)),
  );
  const kept = new Set([
    ...wanted.files.map(({ path }) => path),
    ...wanted.units.filter(({ state }) => state === 'masked').map(({ name }) => pathOf(name)),
  ]);
  const remove: string[] = [];
  for (const path of earlier.keys()) {
    if (!kept.has(path) && !isRenewed(path) && (await isLeft(at, path))) remove.push(path);
  }
  const units: UnitChange[] = [];
  for (const unit of pairsOf(wanted.units, before?.units ?? [])) {
    if (unitVerb(unit, await unitState(at, unit.name)) !== undefined) units.push(unit);
  }
  return { write, remove, units, ...(await passwordFor(at, wanted, before)) };
}

/** The password that core is to get. One that a person has set stays until the MachineConfig has another; a host may lack the user. */
async function passwordFor(
  { host, signal }: ReachedHost,
  { password }: WantedHost,
  before: WantedHost | undefined,
): Promise<Pick<HostChange, 'password'>> {
  if (before === undefined || before.password === password) return {};
  const argv = ['getent', 'shadow', 'core'] as const;
  const options = { signal, limit: minutes(1), accept: [0, 2] };
  const { exitCode, stdout } = await host.exec(argv, options);
  if (exitCode === 2) return {};
  const hash = /^core:([^:]*):/.exec(stdout)?.[1];
  if (hash === undefined) throw unreadableOutput('getent', 'entry of core', '');
  return hash === password ? {} : { password };
}

/**
 * Certificates and credentials that a MachineConfig brings for the beginning, and that are renewed and left to others then. The last
 * is in MachineConfigs of OpenShift 4.14 to 4.16, and its tokens change (machine-config-operator, `getFilesToIgnore`).
 */
const isRenewed = (path: string): boolean =>
  path.startsWith('/etc/docker/certs.d/') || renewed.has(path);
const renewed: ReadonlySet<string> = new Set([
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt',
  '/etc/mco/internal-registry-pull-secret.json',
]);

/** A file of a host: the sum of its bytes, its mode, and its owner by name and by number. */
interface FoundFile {
  readonly sum: string;
  readonly mode: number;
  readonly owners: readonly (readonly string[])[];
}

const sumOf = ({ content }: WantedFile): string =>
  createHash('sha256').update(content).digest('hex');

/** Whether a file is to be written. Who owns one that names no owner is not asked: many a service changes that of its own. */
function isDue(
  file: WantedFile,
  earlier: WantedFile | undefined,
  found: FoundFile | undefined,
): boolean {
  if (found === undefined) return true;
  const sum = sumOf(file);
  const isOther = earlier !== undefined && sumOf(earlier) !== sum;
  if (isRenewed(file.path) && !isOther) return false;
  const owner = file.owner ?? (earlier?.owner && '0:0');
  return found.sum !== sum || found.mode !== file.mode || !isOwned(found, owner);
}

/** Whether a file belongs to `USER:GROUP`, each a name or a number. */
const isOwned = ({ owners }: FoundFile, owner: string | undefined): boolean =>
  owner === undefined || owner.split(':').every((one, part) => owners[part]?.includes(one));

/**
 * The files that are there. They are compared by the sums of their bytes, as what is no text must not be read as one.
 * @throws AgentError `command.unreadable`, also where something else than a file is there
 */
async function filesOn(
  { host, signal }: ReachedHost,
  files: readonly WantedFile[],
): Promise<ReadonlyMap<string, FoundFile>> {
  const paths = files.map(({ path }) => path);
  if (paths.length === 0) return new Map();
  // What is not there is an answer.
  const options = { signal, limit: minutes(1), accept: [0, 1] };
  // A name may have a backslash, as units of mounts do: sha256sum escapes it, unless each answer ends with a zero byte.
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

/** Whether a file that is to go is there, or one that the image has by itself may have other rights than that. */
const isLeft = async (at: ReachedHost, path: string): Promise<boolean> =>
  (await at.host.readText(path, at.signal)) !== undefined || (await isShipped(at, path));

/** Whether the running image has a file for a path of /etc: what is equal to it follows the next image by itself. */
const isShipped = async ({ host, signal }: ReachedHost, path: string): Promise<boolean> =>
  path.startsWith('/etc/') && (await host.readText(`/usr${path}`, signal)) !== undefined;

function pairsOf(
  wanted: readonly WantedUnit[],
  before: readonly WantedUnit[],
): readonly UnitChange[] {
  const names = new Set([...wanted, ...before].map(({ name }) => name));
  return [...names].map((name) => ({
    name,
    wanted: wanted.find((one) => one.name === name),
    before: before.find((one) => one.name === name),
  }));
}

const pathOf = (unit: string): string => `${unitFolder}/${unit}`;

async function unitState({ host, signal }: ReachedHost, name: string): Promise<string> {
  const argv = ['systemctl', 'is-enabled', name] as const;
  // What is not enabled, and what does not exist, is an answer.
  const { stdout } = await host.exec(argv, { signal, limit: minutes(1), accept: [0, 1, 4] });
  if (/^[a-z-]*$/.test(stdout)) return stdout === '' ? 'not-found' : stdout;
  throw unreadableOutput('systemctl', `state of ${name}`, stdout);
}

/**
 * What systemctl has to do next for a unit that was found as `systemctl is-enabled` says; undefined when nothing is left. A unit
 * that is no longer in the MachineConfig gets the state that the image gives it; what systemd starts by itself, and what comes with
 * no image, is left.
 */
export function unitVerb({ wanted, before }: UnitChange, found: string): string | undefined {
  const isSet = found === 'enabled' || found === 'disabled';
  if (wanted === undefined) return unmaskVerb(before, found) ?? (isSet ? 'preset' : undefined);
  switch (wanted.state) {
    case 'masked':
      return found === 'masked' ? undefined : 'mask';
    case 'disabled':
      return unmaskVerb(before, found) ?? (found === 'enabled' ? 'disable' : undefined);
    case 'enabled':
      return enablingVerb(wanted, before, found);
  }
}

const unmaskVerb = (before: WantedUnit | undefined, found: string): string | undefined =>
  before?.state === 'masked' && found.startsWith('masked') ? 'unmask' : undefined;

function enablingVerb(
  wanted: WantedUnit,
  before: WantedUnit | undefined,
  found: string,
): string | undefined {
  if (found.startsWith('masked')) return 'unmask';
  if (found === 'disabled' || (found === 'not-found' && wanted.text !== undefined)) return 'enable';
  // Its links are those of its text before.
  const isOtherText = before !== undefined && before.text !== wanted.text;
  return found === 'enabled' && isOtherText ? 'reenable' : undefined;
}

/** Whether there is anything to be written. */
export const isChange = ({ write, remove, units, password }: HostChange): boolean =>
  write.length + remove.length + units.length > 0 || password !== undefined;

/** What is to be written, for people: names and never content. */
export const changedNames = ({ write, remove, units }: HostChange): string =>
  [...write.map(({ path }) => path), ...remove, ...units.map(({ name }) => name)]
    .slice(0, 10)
    .join(', ');

/** Writes to the host what differs. Each part may be repeated. */
export async function applyChange(at: ReachedHost, change: HostChange): Promise<void> {
  const { write, remove, units, password } = change;
  // As long as its file is there: systemctl finds the links of a unit by it.
  for (const unit of units) if (unit.wanted === undefined) await applyUnit(at, unit);
  for (const file of write) await writeFile(at, file);
  for (const path of remove) await resetFile(at, path);
  if (units.length > 0) await run(at, ['systemctl', 'daemon-reload']);
  for (const unit of units) if (unit.wanted !== undefined) await applyUnit(at, unit);
  if (password === undefined) return;
  const { host, signal } = at;
  const argv = ['usermod', '-p', password, 'core'] as const;
  await host.exec(argv, { signal, limit: minutes(2), secrets: [password] });
}

async function applyUnit(at: ReachedHost, unit: UnitChange): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const verb = unitVerb(unit, await unitState(at, unit.name));
    if (verb === undefined || verb === last) return;
    // The link of a masked unit stands where a file of it would.
    if (verb === 'mask') await at.host.remove(pathOf(unit.name), at.signal);
    await run(at, ['systemctl', verb, unit.name]);
    last = verb;
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
  // Linux takes set-id bits off with each change of owner.
  if (mode > 0o777) await run(at, ['chmod', mode.toString(8), path]);
}

/** Gives a file back to the image, with mode, owner and label: what is equal to it follows the next image by itself. */
async function resetFile(at: ReachedHost, path: string): Promise<void> {
  if (!(await isShipped(at, path))) return at.host.remove(path, at.signal);
  const part = `${dirname(path)}/.${basename(path)}.part`;
  await run(at, ['cp', '-a', '--remove-destination', `/usr${path}`, part]);
  await run(at, ['mv', '-T', part, path]);
}

/** Runs a short command that changes the host. */
export async function run({ host, signal }: ReachedHost, argv: readonly string[]): Promise<void> {
  await host.exec(argv, { signal, limit: minutes(2) });
}
