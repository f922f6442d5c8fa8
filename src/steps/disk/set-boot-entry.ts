import { ifGiven } from '../../engine/fact.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { isTrue, readArchitecture } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import {
  deviceAt,
  disksUnder,
  espType,
  everyDevice,
  findPartition,
  numberOf,
  partitionsOf,
  type BlockDevice,
} from './block-devices.ts';
import {
  bootLabel,
  type BootMenu,
  type BootWorld,
  createEntryArgv,
  deleteEntryArgv,
  espsOf,
  hasEfiArgv,
  type IgnitionEsp,
  logOrderArgv,
  oldEntries,
  orderWithFirst,
  ownEntry,
  parseMenu,
  phantomEntries,
  prepType,
  readMenuArgv,
  sameLabelNumbers,
  setOrderArgv,
} from './check-boot.ts';
import { diskFailure } from './failures.ts';
import { removeStaleMounts, unmountAtEnd } from './in-use.ts';
import { TargetDisk } from './facts.ts';
import { execOnTarget, readDisks } from './target.ts';

const hasBootlistArgv = ['test', '-f', '/usr/sbin/bootlist'] as const;
const bootlistArgv = (...paths: readonly string[]): readonly string[] => [
  ...['bootlist', '-m', 'normal', '-o'],
  ...paths,
];

/**
 * The firmware of Power keeps five; bootlist before powerpc-utils 1.3.9 refuses a multipath device
 * that has more.
 */
const bootPathsMax = 5;

/**
 * bootlist says so and ends with 0 all the same: of NVRAM in every version, of a disk before
 * powerpc-utils 1.3.8.
 */
const bootlistComplaint = /.{0,200}(?:Could not update|does not appear to be valid).{0,200}/;

/**
 * Configures the firmware to boot the install disk. coreos-installer makes no entry (Fedora CoreOS
 * tracker issue 2093). Nothing here ends an installation: the disk is written, and a person can
 * choose it in the boot menu; what went wrong is a warning.
 */
export const setBootEntry = step({
  id: 'disk/set-boot-entry',
  title: 'Configure the firmware to boot from the install disk',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: ifGiven(HostIgnition) },
  when: writesDisk,
  // Above what a command may hang: to pass it would end the installation.
  limit: minutes(15),
  preview: () =>
    callsOf('bootlist', 'efibootmgr', 'ls', 'lsblk', 'mount', 'test', 'umount', 'uname'),
  run: async (scope, { disk, ignition }) => {
    const failed = await tryOr(scope, () => setFor(scope, disk, ignition?.path));
    if (failed instanceof AgentError) warn(scope, failed);
  },
});

function warn({ note }: StepScope<'host'>, error: AgentError): void {
  note('warn', `the boot order could not be confirmed: ${error.message}`, {
    code: error.code,
    hint: error.hint,
  });
}

async function setFor(
  scope: StepScope<'host'>,
  disk: TargetDisk,
  ignition: string | undefined,
): Promise<void> {
  const { host, signal, note } = scope;
  if (await isTrue(scope, hasBootlistArgv)) {
    const { roots, disk: device } = await readDisks(host, disk, signal);
    const members = disksUnder(roots, device).map(({ path }) => path);
    const own = device.type === 'mpath' ? members : [disk.path];
    const paths = [...new Set([...own, ...(await mirrorPaths(scope, roots, ignition))])];
    const limit = minutes(1);
    const argv = bootlistArgv(...paths.slice(0, bootPathsMax));
    const said = await execOnTarget({ host, target: disk }, argv, { signal, limit });
    const complaint = bootlistComplaint.exec(`${said.stderr}\n${said.stdout}`)?.[0];
    if (complaint !== undefined) throw diskFailure('boot.not-set', `bootlist: ${complaint}`);
    return;
  }
  if (!(await isTrue(scope, hasEfiArgv))) {
    const architecture = await readArchitecture(scope);
    note('info', `no UEFI: ${bootsWithoutUefi(architecture)}`, { disk: disk.path });
    return;
  }
  await setEfiEntry(scope, disk, ignition);
}

/**
 * What boots a host without UEFI. On s390x coreos-installer ends with chreipl (its `install.rs`).
 */
const bootsWithoutUefi = (architecture: string): string =>
  architecture === 's390x'
    ? 'coreos-installer has set the disk as the next to be booted (chreipl)'
    : 'the BIOS boots the first disk in its own order';

async function setEfiEntry(
  scope: StepScope<'host'>,
  disk: TargetDisk,
  ignition: string | undefined,
): Promise<void> {
  const { host, signal, note } = scope;
  const run = (argv: readonly string[]): ReturnType<typeof host.exec> =>
    host.exec(argv, { signal, limit: minutes(1) });
  const { number, ...world } = await readEsp(scope, disk);
  const file = shimPath(world.directories, await readArchitecture(scope));
  // First, since they may fill the NVRAM. An entry for this partition stays until there is another.
  const before = await tryOr(scope, async () => parseMenu((await run(readMenuArgv)).stdout));
  const menu = before instanceof AgentError ? { order: [], entries: [] } : before;
  for (const old of oldEntries(menu, world)) {
    await tryOr(scope, () => run(deleteEntryArgv(old.number, file)));
  }
  const create = createEntryArgv(disk.path, number, file);
  const made = await tryOr(scope, () =>
    execOnTarget({ host, target: disk }, create, { signal, limit: minutes(1) }),
  );
  if (made instanceof AgentError) {
    if (ownEntry(menu, world) === undefined) {
      throw diskFailure('boot.not-set', made.message, { cause: made });
    }
    note('warn', `the boot entry of an earlier run is kept: ${made.message}`);
    await verify(scope, world);
    return;
  }
  for (const same of sameLabelNumbers(`${made.stdout}\n${made.stderr}`)) {
    await tryOr(scope, () => run(deleteEntryArgv(same, file)));
  }
  if (ignition !== undefined) {
    const failed = await tryOr(scope, () => setMirrorEntries(scope, disk, { ignition, file }));
    if (failed instanceof AgentError) warn(scope, failed);
  }
  await verify(scope, world);
  await tryOr(scope, () => run(logOrderArgv(file)));
}

/**
 * The disks that Ignition makes a PReP partition on: the firmware of Power boots a disk, so they
 * need none of it yet.
 */
async function mirrorPaths(
  { host, signal }: StepScope<'host'>,
  roots: readonly BlockDevice[],
  ignition: string | undefined,
): Promise<readonly string[]> {
  const text = ignition === undefined ? '' : ((await host.readText(ignition, signal)) ?? '');
  if (text === '') return [];
  const partitions = espsOf(parseConfig(text), prepType);
  const reals = partitions.map(({ device }) => host.realPath(device, signal));
  return (await Promise.all(reals)).flatMap((path) => deviceAt(roots, path ?? '')?.path ?? []);
}

/**
 * Makes an entry for each EFI system partition of Ignition that is there already and stays. An
 * entry names a partition by its GUID, which Ignition creates with the table: of those, the
 * firmware has none after the first boot.
 */
async function setMirrorEntries(
  scope: StepScope<'host'>,
  disk: TargetDisk,
  { ignition, file }: { readonly ignition: string; readonly file: string },
): Promise<void> {
  const { host, signal, note } = scope;
  const text = (await host.readText(ignition, signal)) ?? '';
  const esps = text === '' ? [] : espsOf(parseConfig(text));
  if (esps.length === 0) return;
  const { roots, disk: own } = await readDisks(host, disk, signal);
  const later: string[] = [];
  for (const esp of esps) {
    const real = (await host.realPath(esp.device, signal)) ?? esp.device;
    const loader = loaderFor(deviceAt(roots, real), esp);
    if (loader === undefined) later.push(`${esp.label} on ${esp.device}`);
    if (loader === undefined || loader.disk === own.path) continue;
    const argv = createEntryArgv(loader.disk, loader.partition, file);
    await execOnTarget({ host, target: disk }, argv, { signal, limit: minutes(1) });
  }
  if (later.length === 0) return;
  note('warn', `Ignition makes EFI system partitions at the first boot: ${later.join(', ')}`, {
    hint: 'entries of the firmware name partitions by their GUIDs, so there are none for these yet: let the firmware boot each of these disks by itself (\\EFI\\BOOT), before the network and the installation medium, or make the entries on the node (efibootmgr)',
  });
}

/** Where the partition is, if it is there and stays. */
function loaderFor(
  device: BlockDevice | undefined,
  esp: IgnitionEsp,
): { readonly disk: string; readonly partition: number } | undefined {
  const stays = ({ partUuid, partLabel, partType }: BlockDevice): boolean =>
    partType === espType &&
    (esp.guid === '' ? !esp.isWiped && partLabel === esp.label : partUuid === esp.guid);
  const found = device && partitionsOf(device).find(stays);
  if (device === undefined || found === undefined) return undefined;
  const partition = numberOf(device, found);
  return partition === undefined ? undefined : { disk: device.path, partition };
}

/** Waits for the partition to appear and to be mountable, and reads which vendors are on it. */
function readEsp(
  scope: StepScope<'host'>,
  target: TargetDisk,
): Promise<BootWorld & { readonly number: number }> {
  const { host, signal, until } = scope;
  return until(
    'the EFI system partition can be read',
    async () => {
      const found = await tryOr(scope, async () => {
        const { roots, disk: installDisk } = await readDisks(host, target, signal);
        await removeStaleMounts(scope, installDisk, [espMountPoint]);
        const { path, number, partUuid } = findPartition(installDisk, 'esp');
        const directories = await readVendors(scope, path);
        const partUuids = new Set(everyDevice(roots).map((device) => device.partUuid));
        partUuids.delete('');
        return { number, espUuid: partUuid, partUuids, directories };
      });
      return found instanceof AgentError ? { status: found.message } : { done: found };
    },
    { every: seconds(5), within: seconds(20) },
  );
}

async function readVendors(
  scope: StepScope<'host'>,
  partition: string,
): Promise<readonly string[]> {
  const { host, signal } = scope;
  await host.exec(['mount', partition, espMountPoint], { signal, limit: seconds(30) });
  const unmount = unmountAtEnd(scope, espMountPoint, seconds(3));
  const listArgv = ['ls', '-1', `${espMountPoint}/EFI`];
  const { stdout } = await host.exec(listArgv, { signal, limit: seconds(30) });
  await unmount(signal);
  return stdout.split('\n').map((name) => name.trim());
}

/** Reads the menu back; some firmware forgets the entry or puts its own first. */
async function verify(scope: StepScope<'host'>, world: BootWorld): Promise<void> {
  const { host, signal, note } = scope;
  const read = async (): Promise<BootMenu> =>
    parseMenu((await host.exec(readMenuArgv, { signal, limit: minutes(1) })).stdout);
  let menu = await read();
  for (const { number, label } of phantomEntries(menu, world)) {
    note('warn', `boot entry ${number} (${label}) points to nothing on this host`, { number });
  }
  const own = ownEntry(menu, world);
  if (own === undefined) {
    throw diskFailure('boot.not-set', `the firmware has no entry "${bootLabel}" for this disk`);
  }
  if (menu.order[0] !== own.number) {
    const order = orderWithFirst(menu.order, own.number);
    await tryOr(scope, () => host.exec(setOrderArgv(order), { signal, limit: minutes(1) }));
    menu = await read();
  }
  if (menu.order[0] === own.number) {
    note('info', `the firmware boots entry ${own.number} first`, { path: own.path });
    return;
  }
  const what = `the boot order of the firmware is ${menu.order.join(', ')}`;
  throw diskFailure('boot.order-ignored', what, {
    context: { own: own.number, order: menu.order.join(',') },
  });
}

/** What a piece of work gives, or the failure it ended with; a stop of the run passes through. */
async function tryOr<T>(
  { signal }: StepScope<'host'>,
  work: () => Promise<T>,
): Promise<T | AgentError> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AgentError && error.code !== 'disk.changed') return error;
    throw error;
  }
}

/** Directories of the EFI system partition that carry a shim, by preference. */
const vendors = ['redhat', 'centos', 'fedora'];

/** Where the EFI system partition is looked into; the place that the Go agent uses. */
const espMountPoint = '/mnt';

/**
 * The path of the shim as the firmware wants it. The architecture is that of the host (`uname -m`):
 * this program may run in emulation.
 * @throws AgentError `boot.no-loader` when no known vendor is there
 */
export function shimPath(directories: readonly string[], architecture: string): string {
  const vendor = vendors.find((name) => directories.includes(name));
  if (vendor === undefined) {
    const what = `the EFI system partition has no boot loader of ${vendors.join(', ')}`;
    throw diskFailure('boot.no-loader', what, { context: { directories: directories.join(' ') } });
  }
  const file = architecture === 'aarch64' ? 'shimaa64.efi' : 'shimx64.efi';
  return `\\EFI\\${vendor}\\${file}`;
}
