import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path/posix';
import { minutes } from '../../model/duration.ts';
import {
  type FoundFile,
  type HostSnapshot,
  type ReachedHost,
  shippedPath,
  unitState,
} from './host-snapshot.ts';
import { unitFolder, type WantedFile, type WantedHost, type WantedUnit } from './wanted-host.ts';

/** A unit of a MachineConfig, of the previous one, or of both. */
interface UnitChange {
  readonly name: string;
  readonly wanted?: WantedUnit | undefined;
  readonly before?: WantedUnit | undefined;
}

/** Changes that bring a host to the state of a MachineConfig. */
export interface HostChange {
  readonly write: readonly WantedFile[];
  /** Files of the previous MachineConfig that the new one lacks. */
  readonly remove: readonly string[];
  readonly units: readonly UnitChange[];
  /** New hash of the password of core. */
  readonly password?: string | undefined;
}

/** Compares a host with its desired state; `before` is the previous MachineConfig's. */
export function hostChange(
  { files, units, password }: Pick<HostSnapshot, 'files' | 'units' | 'password'>,
  wanted: WantedHost,
  before: WantedHost | undefined,
): HostChange {
  const earlier = new Map(before?.files.map((file) => [file.path, file]));
  const kept = new Set([
    ...wanted.files.map(({ path }) => path),
    ...wanted.units.filter(({ state }) => state === 'masked').map(({ name }) => pathOf(name)),
  ]);
  // A file of the image may have another mode or owner than that.
  const isLeft = (path: string): boolean => files.has(path) || files.has(shippedPath(path) ?? path);
  // A password set by a person stays until the MachineConfig changes it; a host may lack the user.
  const isDuePassword =
    before !== undefined &&
    before.password !== wanted.password &&
    password !== undefined &&
    password !== wanted.password;
  return {
    write: wanted.files.filter((file) => isDue(file, earlier.get(file.path), files.get(file.path))),
    remove: [...earlier.keys()].filter(
      (path) => !kept.has(path) && !isRenewed(path) && isLeft(path),
    ),
    units: pairsOf(wanted.units, before?.units ?? []).filter(
      (unit) => unitVerb(unit, units.get(unit.name) ?? 'not-found') !== undefined,
    ),
    password: isDuePassword ? wanted.password : undefined,
  };
}

/**
 * Certificates and credentials that a MachineConfig brings for the first boot, and that other
 * programs renew later. The last one is in MachineConfigs of OpenShift 4.14 to 4.16, and its tokens
 * change (machine-config-operator, `getFilesToIgnore`).
 */
const isRenewed = (path: string): boolean =>
  path.startsWith('/etc/docker/certs.d/') || renewed.has(path);
const renewed: ReadonlySet<string> = new Set([
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt',
  '/etc/mco/internal-registry-pull-secret.json',
]);

const sumOf = ({ content }: WantedFile): string =>
  createHash('sha256').update(content).digest('hex');

/**
 * Whether a file must be written. Without an owner in the MachineConfig, the owner is not compared:
 * many services change the owner of their files.
 */
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

/**
 * The next systemctl verb for a unit in the state that `systemctl is-enabled` reports; undefined
 * when none is needed. A unit that is no longer in the MachineConfig gets its preset state from the
 * image; units that systemd starts itself, and units that no image contains, stay.
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
  // Its links belong to its previous text.
  const isOtherText = before !== undefined && before.text !== wanted.text;
  return found === 'enabled' && isOtherText ? 'reenable' : undefined;
}

/** Whether a change contains anything to write. */
export const isChange = ({ write, remove, units, password }: HostChange): boolean =>
  write.length + remove.length + units.length > 0 || password !== undefined;

/** The changed names for people, never their content. */
export const changedNames = ({ write, remove, units }: HostChange): string =>
  [...write.map(({ path }) => path), ...remove, ...units.map(({ name }) => name)]
    .slice(0, 10)
    .join(', ');

/** Writes the differences to the host. Each part is idempotent. */
export async function applyChange(at: ReachedHost, change: HostChange): Promise<void> {
  const { write, remove, units, password } = change;
  // While its file exists: systemctl needs it to find the links of a unit.
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
    // A masked unit is a link in the place of its file.
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
  // Linux clears the set-id bits at each change of owner.
  if (mode > 0o777) await run(at, ['chmod', mode.toString(8), path]);
}

/**
 * Resets a file to the image's, with mode, owner and label: an equal file follows the next image by
 * itself.
 */
async function resetFile(at: ReachedHost, path: string): Promise<void> {
  const shipped = shippedPath(path);
  const isShipped =
    shipped !== undefined && (await at.host.readText(shipped, at.signal)) !== undefined;
  if (!isShipped) return at.host.remove(path, at.signal);
  const part = `${dirname(path)}/.${basename(path)}.part`;
  await run(at, ['cp', '-a', '--remove-destination', shipped, part]);
  await run(at, ['mv', '-T', part, path]);
}

/** Runs a short command that changes the host. */
export async function run({ host, signal }: ReachedHost, argv: readonly string[]): Promise<void> {
  await host.exec(argv, { signal, limit: minutes(2) });
}
