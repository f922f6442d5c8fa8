import { ifGiven } from '../../engine/fact.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { isTrue, readArchitecture, unreadableOutput } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { deviceAt, disksUnder, espType, findPartition } from './block-devices.ts';
import { diskFailure } from './failures.ts';
import { removeStaleMounts, unmountAtEnd } from './in-use.ts';
import { TargetDisk } from './facts.ts';
import { execOnTarget, readDisks, readTarget } from './target.ts';

const hasBootlistArgv = ['test', '-f', '/usr/sbin/bootlist'] as const;

/** Tests whether UEFI firmware started the host. */
export const hasEfiArgv = ['test', '-d', '/sys/firmware/efi'] as const;

/** Prints the boot order and every boot entry. */
export const readMenuArgv = ['efibootmgr', '-v'] as const;

/** The label of OpenShift nodes in the boot menu of the firmware. */
const bootLabel = 'Red Hat Enterprise Linux';

/** Mount point of the EFI system partition, the same as in assisted-installer. */
const espMountPoint = '/mnt';

/** Directories of the EFI system partition that may have a shim, by preference. */
const vendors = ['redhat', 'centos', 'fedora'];

/**
 * Makes the firmware boot the install disk. coreos-installer creates no boot entry (Fedora CoreOS
 * tracker issue 2093). No error here ends an installation: the disk is written, and a person can
 * choose it in the boot menu. Each error is a warning.
 */
export const setBootEntry = step({
  id: 'disk/set-boot-entry',
  title: 'Configure the firmware to boot from the install disk',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: ifGiven(HostIgnition) },
  when: writesDisk,
  // Longer than the limits of its commands together: a step that exceeds its limit ends the
  // installation.
  limit: minutes(15),
  preview: () =>
    callsOf('bootlist', 'efibootmgr', 'ls', 'lsblk', 'mount', 'test', 'umount', 'uname'),
  run: async (scope, { disk, ignition }) => {
    const { signal, note } = scope;
    try {
      if (await isTrue(scope, hasBootlistArgv)) {
        await setBootlist(scope, disk, ignition?.path);
      } else if (await isTrue(scope, hasEfiArgv)) {
        await setEfiEntry(scope, disk);
        await warnOfMirror(scope, ignition?.path);
      } else if ((await readArchitecture(scope)) === 's390x') {
        // coreos-installer 0.26, `install.rs`.
        note(
          'info',
          'no UEFI: coreos-installer has set the disk as the next to be booted (chreipl)',
        );
      } else {
        note('info', 'no UEFI: the BIOS boots the first disk in its own order');
      }
    } catch (error) {
      const { message, code, hint } = requireHarmless(error, signal);
      note('warn', `the boot order could not be confirmed: ${message}`, { code, hint });
    }
  },
});

/** Throws the errors that must end the run: a stop, and another disk under the same name. */
function requireHarmless(error: unknown, signal: AbortSignal): AgentError {
  signal.throwIfAborted();
  if (error instanceof AgentError && error.code !== 'disk.changed') return error;
  throw error;
}

/**
 * The firmware of Power stores five paths; bootlist before powerpc-utils 1.3.9 refuses a multipath
 * device with more.
 */
const bootPathsMax = 5;

/**
 * Error messages of bootlist with exit code 0: about NVRAM in every version, about a disk before
 * powerpc-utils 1.3.8.
 */
const bootlistComplaint = /.{0,200}(?:Could not update|does not appear to be valid).{0,200}/;

/** GPT type of the boot partition of Power (PReP). */
const prepType = '9e1a2d38-c612-4316-aa26-8b49521e5a8b';

/**
 * Sets the boot list of a Power host: the paths of the install disk, and the other disks of a
 * mirror. The firmware boots a disk, so the other disks need no partition yet.
 */
async function setBootlist(
  scope: StepScope<'host'>,
  target: TargetDisk,
  ignition: string | undefined,
): Promise<void> {
  const { host, signal } = scope;
  const { roots, disk } = await readDisks(host, target, signal);
  const paths = new Set(
    disk.type === 'mpath' ? disksUnder(roots, disk).map(({ path }) => path) : [target.path],
  );
  for (const { device } of await bootPartitionsIn(scope, ignition, prepType)) {
    const mirror = deviceAt(roots, (await host.realPath(device, signal)) ?? '');
    if (mirror !== undefined) paths.add(mirror.path);
  }
  const argv = ['bootlist', '-m', 'normal', '-o', ...[...paths].slice(0, bootPathsMax)];
  const { stdout, stderr } = await execOnTarget({ host, target }, argv, {
    signal,
    limit: minutes(2),
  });
  const complaint = bootlistComplaint.exec(`${stderr}\n${stdout}`)?.[0];
  if (complaint !== undefined) throw diskFailure('boot.not-set', `bootlist: ${complaint}`);
}

/**
 * The partitions of a type that an Ignition config creates, one on each disk of a mirror (Butane).
 */
async function bootPartitionsIn(
  { host, signal }: StepScope<'host'>,
  ignition: string | undefined,
  type: string,
): Promise<readonly { readonly device: string; readonly label: string }[]> {
  const text = ignition === undefined ? '' : ((await host.readText(ignition, signal)) ?? '');
  if (text === '') return [];
  return (parseConfig(text).storage?.disks ?? []).flatMap(({ device, partitions = [] }) =>
    partitions
      .filter(({ typeGuid }) => typeGuid?.toLowerCase() === type)
      .map(({ label = '' }) => ({ device, label })),
  );
}

/**
 * Replaces the boot entries of earlier installations by one for the install disk, first in the boot
 * order.
 */
async function setEfiEntry(scope: StepScope<'host'>, target: TargetDisk): Promise<void> {
  const { host, signal, note, until } = scope;
  const options = { signal, limit: minutes(2) };
  const attempt = <T>(work: Promise<T>): Promise<T | AgentError> =>
    work.catch((error: unknown) => requireHarmless(error, signal));
  const esp = await until(
    'the EFI system partition can be read',
    async () => {
      const read = await attempt(readEsp(scope, target));
      return read instanceof AgentError ? { status: read.message } : { done: read };
    },
    { every: seconds(5), within: seconds(20) },
  );
  const file = shimPath(esp.directories, await readArchitecture(scope));
  const deleteEntry = (number: string) =>
    attempt(
      host.exec(['efibootmgr', '-v', '--delete-bootnum', '--bootnum', number, '-l', file], options),
    );
  const readMenu = async () => parseMenu((await host.exec(readMenuArgv, options)).stdout);
  // A host may not know the GUID of the partition.
  const isOwn = ({ label, partUuid }: { label: string; partUuid: string }): boolean =>
    label === bootLabel && (esp.partUuid === '' || partUuid === esp.partUuid);

  const before = await attempt(readMenu());
  const entries = before instanceof AgentError ? [] : before.entries;
  // This comes first, because old entries may fill the NVRAM. An entry for this partition stays
  // until another one exists.
  for (const entry of entries) {
    if (entry.label === bootLabel && !isOwn(entry)) await deleteEntry(entry.number);
  }
  const createArgv = [
    ...['efibootmgr', '-v', '-d', target.path, '-p', String(esp.number)],
    ...['-c', '-L', bootLabel, '-l', file],
  ];
  const created = await attempt(execOnTarget({ host, target }, createArgv, options));
  if (created instanceof AgentError) {
    if (!entries.some(isOwn)) throw diskFailure('boot.not-set', created.message);
    note('warn', `the boot entry of an earlier run is kept: ${created.message}`);
  } else {
    for (const number of sameLabelNumbers(`${created.stdout}\n${created.stderr}`))
      await deleteEntry(number);
  }

  // Some firmware drops the entry, or puts its own first.
  let menu = await readMenu();
  const own = menu.entries.find(isOwn);
  if (own === undefined)
    throw diskFailure('boot.not-set', `the firmware has no entry "${bootLabel}" for this disk`);
  if (menu.order[0] !== own.number) {
    const order = [own.number, ...menu.order.filter((number) => number !== own.number)];
    await attempt(host.exec(['efibootmgr', '--bootorder', order.join(',')], options));
    menu = await readMenu();
  }
  if (menu.order[0] !== own.number) {
    const order = menu.order.join(', ');
    throw diskFailure('boot.order-ignored', `the boot order of the firmware is ${order}`);
  }
  note('info', `the firmware boots entry ${own.number} first`, { path: own.path });
  // For the log, last as in assisted-installer.
  await attempt(host.exec(['efibootmgr', '-l', file], options));
}

/** Reads the names of the boot loader directories on the EFI system partition. */
async function readEsp(scope: StepScope<'host'>, target: TargetDisk) {
  const { host, signal } = scope;
  const options = { signal, limit: minutes(2) };
  const disk = await readTarget(host, target, signal);
  await removeStaleMounts(scope, disk, [espMountPoint]);
  const { path, number, partUuid } = findPartition(disk, 'esp');
  await host.exec(['mount', path, espMountPoint], options);
  const unmount = unmountAtEnd(scope, espMountPoint, seconds(3));
  const { stdout } = await host.exec(['ls', '-1', `${espMountPoint}/EFI`], options);
  await unmount(signal);
  return { number, partUuid, directories: stdout.split('\n').map((name) => name.trim()) };
}

/**
 * A boot entry names a partition by its GUID. Ignition assigns the GUIDs on the other disks of a
 * mirror at the first boot, so no entry for them is possible before.
 */
async function warnOfMirror(scope: StepScope<'host'>, ignition: string | undefined): Promise<void> {
  const later = await bootPartitionsIn(scope, ignition, espType);
  if (later.length === 0) return;
  const list = later.map(({ label, device }) => `${label} on ${device}`).join(', ');
  scope.note('warn', `Ignition makes EFI system partitions at the first boot: ${list}`, {
    hint: 'entries of the firmware name partitions by their GUIDs, so there are none for these yet: let the firmware boot each of these disks by itself (\\EFI\\BOOT), before the network and the installation medium, or make the entries on the node (efibootmgr)',
  });
}

/**
 * The path of the shim in the notation of the firmware. The architecture is that of the host
 * (`uname -m`): this program may run in emulation.
 * @throws AgentError `boot.no-loader` if no known vendor directory exists
 */
function shimPath(directories: readonly string[], architecture: string): string {
  const vendor = vendors.find((name) => directories.includes(name));
  if (vendor === undefined) {
    const found = directories.filter((name) => name !== '').join(', ') || 'nothing';
    const what = `the EFI system partition has ${found}, and no boot loader of ${vendors.join(', ')}`;
    throw diskFailure('boot.no-loader', what);
  }
  const file = architecture === 'aarch64' ? 'shimaa64.efi' : 'shimx64.efi';
  return `\\EFI\\${vendor}\\${file}`;
}

/**
 * Parses the output of `readMenuArgv` (efibootmgr 16 to 18).
 * @returns the boot order of the firmware, and its entries with four hexadecimal digits, the device
 * path as efibootmgr prints it, and the GPT GUID of the partition, empty if they boot no disk
 * @throws AgentError `command.unreadable`
 */
export function parseMenu(stdout: string) {
  // `No BootOrder is set`, if the firmware has none.
  if (stdout.trim() !== '' && !/^(?:Boot|Timeout:|No Boot)/m.test(stdout)) {
    throw unreadableOutput('efibootmgr', 'boot menu', stdout);
  }
  const order = /^BootOrder: *(\S+)/m.exec(stdout)?.[1]?.split(',') ?? [];
  const entries = [...stdout.matchAll(/^Boot([0-9A-F]{4})[* ] ?([^\t\n]*)(.*)$/gm)].map(
    ([, number = '', label = '', path = '']) => ({
      number,
      label: label.trim(),
      path: path.trim(),
      partUuid: /HD\(\d+,GPT,([0-9a-fA-F-]{36})/.exec(path)?.[1]?.toLowerCase() ?? '',
    }),
  );
  return { order, entries };
}

/**
 * Numbers of the entries with the same label, from efibootmgr's warning when it creates an entry.
 */
const sameLabelNumbers = (output: string): readonly string[] =>
  [...output.matchAll(new RegExp(`Boot([0-9A-Fa-f]{4}) has same label ${bootLabel}`, 'g'))].map(
    ([, number = '']) => number,
  );
