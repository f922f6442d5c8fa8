import type { PollResult } from '../../engine/wait.ts';
import type { Config } from '../../ignition/types.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { writesDisk } from '../conditions.ts';
import { isTrue, unreadableOutput } from '../host-commands.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { missingPartitions, partitionFor, type BlockDevice, espType } from './block-devices.ts';
import { TargetDisk } from './facts.ts';
import { diskFailure } from './failures.ts';
import { isMountedAlready, removeStaleMounts, unmountAtEnd } from './in-use.ts';
import { readTarget } from './target.ts';

/**
 * Checks a last time whether the disk will boot the installed system: after this the host with
 * everything that only it knows is gone. What is seen to be wrong on the disk ends the installation;
 * a doubtful boot order and what cannot be checked are warnings.
 */
export const checkBoot = step({
  id: 'disk/check-boot',
  title: 'Check that the install disk will boot',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: HostIgnition },
  when: writesDisk,
  touches: ['disk:install', 'firmware'],
  limit: minutes(5),
  programs: ['efibootmgr', 'lsblk', 'mount', 'sha256sum', 'test', 'umount'],
  run: async (scope, { disk, ignition }) => {
    const wrong = await tryOr(scope, () => findWrong(scope, disk, ignition));
    if (wrong.length > 0) {
      throw diskFailure('disk.will-not-boot', `${disk.path}: ${wrong.join('; ')}`, {
        context: { disk: disk.path, findings: wrong.length },
      });
    }
  },
});

/** What is found wrong; nothing, with a warning, when it cannot be checked. */
async function tryOr(
  { signal, note }: StepScope<'host'>,
  check: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  try {
    return await check();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code === 'disk.changed') throw error;
    const { code, message } = error;
    note('warn', 'could not check whether the install disk will boot', { code, reason: message });
    return [];
  }
}

async function findWrong(
  scope: StepScope<'host'>,
  target: TargetDisk,
  ignition: HostIgnition,
): Promise<readonly string[]> {
  const { host, signal, note } = scope;
  const disk = await readTarget(host, target, signal);
  await removeStaleMounts(scope, disk, [bootMountPoint]);
  const isUefi = await isTrue(scope, hasEfiArgv);
  const missing = missingPartitions(disk, { isUefi });
  if (missing.length > 0) return missing;
  if (isUefi) await checkMenu(scope, disk);
  const wrong = await lookInside(scope, disk, ignition);
  if (wrong.length === 0) note('info', 'the install disk has what the first boot needs');
  return wrong;
}

/** Firmware that is asked for nothing starts the disk by its fallback path, so this is a doubt. */
async function checkMenu(scope: StepScope<'host'>, disk: BlockDevice): Promise<void> {
  const { host, signal, note } = scope;
  await tryOr(scope, async () => {
    const { stdout } = await host.exec(readMenuArgv, { signal, limit: minutes(1) });
    const doubt = menuDoubt(parseMenu(stdout), partitionFor(disk, 'esp')?.partUuid ?? '');
    if (doubt !== undefined) {
      note('warn', doubt, { hint: 'move the install disk to the top of the firmware boot order' });
    }
    return [];
  });
}

async function lookInside(
  scope: StepScope<'host'>,
  disk: BlockDevice,
  ignition: HostIgnition,
): Promise<readonly string[]> {
  const { host, signal } = scope;
  const refused = await mountBoot(scope, partitionFor(disk, 'boot')?.path ?? '');
  if (refused !== undefined) return [`its boot partition cannot be mounted: ${refused}`];
  const unmount = unmountAtEnd(scope, bootMountPoint, seconds(30));
  const hasStamp = await isTrue(scope, hasStampArgv);
  const { stdout, exitCode } = await host.exec(digestsArgv(ignition.path), {
    signal,
    limit: minutes(1),
    accept: [0, 1],
  });
  const digests = parseDigests(stdout);
  // 0: it has read both.
  if (exitCode === 0 && digests.size < 2) throw unreadableOutput('sha256sum', 'digests', stdout);
  await unmount(signal);
  const found = digests.get(bootIgnition);
  const wrong = hasStamp ? [] : ['the first boot would not run Ignition'];
  if (found === undefined) return [...wrong, 'there is no Ignition config on the boot partition'];
  return found === (digests.get(ignition.path) ?? ignition.sha256)
    ? wrong
    : [...wrong, 'the Ignition config on the boot partition is not that of this host'];
}

/** Mounts the boot partition with a few tries; why it cannot be mounted, if so. */
async function mountBoot(scope: StepScope<'host'>, path: string): Promise<string | undefined> {
  const tries = 3;
  let left = tries;
  const tryMount = async (): Promise<PollResult<string | undefined>> => {
    left -= 1;
    const refused = await refusalOf(scope, mountBootArgv(path));
    if (refused === undefined) return { done: undefined };
    if ((await refusalOf(scope, mountFrozenBootArgv(path))) === undefined) {
      return { done: undefined };
    }
    return left === 0 ? { done: refused } : { status: refused };
  };
  return scope.until('the boot partition can be mounted', tryMount, {
    every: seconds(5),
    within: minutes(2),
  });
}

/** Why a mount is refused; undefined when it is there. */
async function refusalOf(
  { host, signal }: StepScope<'host'>,
  argv: readonly string[],
): Promise<string | undefined> {
  try {
    await host.exec(argv, { signal, limit: seconds(30) });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AgentError) || error.code !== 'command.failed') throw error;
    // What was there before the step has been unmounted.
    return isMountedAlready(error, bootMountPoint) ? undefined : error.message;
  }
}

/** Where the boot partition is looked into; free by now, the steps before used it too. */
const bootMountPoint = '/mnt';

/** Makes the first start run Ignition (coreos-installer puts it there; GRUB looks for it). */
const firstBootStamp = `${bootMountPoint}/ignition.firstboot`;

/** The Ignition of this host as the first start reads it (coreos-installer, `install.rs`). */
const bootIgnition = `${bootMountPoint}/ignition/config.ign`;

/** Mounts the boot partition so that nothing on it changes and nothing of it is run. */
const mountBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'ro,nosuid,nodev,noexec', partition, bootMountPoint],
];

/**
 * The same for a file system that `image/overwrite-os` left frozen: the kernel continues to hold it
 * as writable, and refuses to mount it read-only beside that (`EBUSY`). While it is frozen nothing on
 * it changes either.
 */
const mountFrozenBootArgv = (partition: string): readonly string[] => [
  ...['mount', '-o', 'nosuid,nodev,noexec,noatime', partition, bootMountPoint],
];

/** Says whether the first start would run Ignition. */
const hasStampArgv = ['test', '-f', firstBootStamp] as const;

/** Prints the digests of the Ignition on the disk and of the one that it was made from. */
const digestsArgv = (ignition: string): readonly string[] => [
  ...['sha256sum', bootIgnition, ignition],
];

/** Reads the output of `digestsArgv`: path → lower-case hexadecimal digest. */
export function parseDigests(stdout: string): ReadonlyMap<string, string> {
  const lines = stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm);
  return new Map([...lines].map(([, digest = '', path = '']) => [path, digest]));
}

/** Says whether the host was started by UEFI firmware. */
export const hasEfiArgv = ['test', '-d', '/sys/firmware/efi'] as const;

/** The label that OpenShift nodes have in the boot menu of the firmware. */
export const bootLabel = 'Red Hat Enterprise Linux';

interface BootEntry {
  /** Four hexadecimal digits. */
  readonly number: string;
  readonly label: string;
  /** Device path as efibootmgr prints it. */
  readonly path: string;
  /** GPT GUID of the partition it starts from, lower case; empty for what is no disk. */
  readonly partUuid: string;
}

/** What efibootmgr prints of the firmware. */
export interface BootMenu {
  readonly order: readonly string[];
  readonly entries: readonly BootEntry[];
}

/**
 * Makes an entry and puts it first in the boot order.
 * @param partition number of the EFI system partition
 * @param file the loader, `\EFI\redhat\shimx64.efi`
 */
export const createEntryArgv = (
  disk: string,
  partition: number,
  file: string,
): readonly string[] => [
  ...['efibootmgr', '-v', '-d', disk, '-p', String(partition), '-c'],
  ...['-L', bootLabel, '-l', file],
];

/** Removes an entry. */
export const deleteEntryArgv = (number: string, file: string): readonly string[] => [
  ...['efibootmgr', '-v', '--delete-bootnum', '--bootnum', number, '-l', file],
];

/** Prints the boot order for the log, as the Go agent does last. */
export const logOrderArgv = (file: string): readonly string[] => ['efibootmgr', '-l', file];

/** Reads every entry back. */
export const readMenuArgv = ['efibootmgr', '-v'] as const;

/** Sets the boot order. */
export const setOrderArgv = (order: readonly string[]): readonly string[] => [
  ...['efibootmgr', '--bootorder', order.join(',')],
];

/** Numbers of the entries that efibootmgr warns of when it makes one with the same label. */
export const sameLabelNumbers = (output: string): readonly string[] =>
  [...output.matchAll(new RegExp(`Boot([0-9A-Fa-f]{4}) has same label ${bootLabel}`, 'g'))].map(
    ([, number]) => number ?? '',
  );

/**
 * Reads the output of `readMenuArgv`, of efibootmgr 16 to 18.
 * @throws AgentError `command.unreadable`
 */
export function parseMenu(stdout: string): BootMenu {
  // `No BootOrder is set` of one that has none.
  if (stdout.trim() !== '' && !/^(?:Boot|Timeout:|No Boot)/m.test(stdout)) {
    throw unreadableOutput('efibootmgr', 'boot menu', stdout);
  }
  const order = /^BootOrder: *(\S+)/m.exec(stdout)?.[1]?.split(',') ?? [];
  const entries = stdout.split('\n').flatMap((line): readonly BootEntry[] => {
    const [, number, text] = /^Boot([0-9A-F]{4})[* ] ?(.*)$/.exec(line) ?? [];
    if (number === undefined || text === undefined) return [];
    const [label, ...path] = text.split('\t');
    return [entryOf(number, label ?? '', path.join(' '))];
  });
  return { order, entries };
}

const entryOf = (number: string, label: string, path: string): BootEntry => ({
  number,
  label: label.trim(),
  path,
  partUuid: /HD\(\d+,GPT,([0-9a-fA-F-]{36})/.exec(path)?.[1]?.toLowerCase() ?? '',
});

/** What the entries of the firmware are compared with. */
export interface BootWorld {
  /** GUID of the EFI system partition of the install disk; empty when the host does not know it. */
  readonly espUuid: string;
  /** GUIDs of every partition of the host. */
  readonly partUuids: ReadonlySet<string>;
  /** Names of the directories in EFI on the install disk. */
  readonly directories: readonly string[];
}

/** Our entry: the one with the label that starts from the partition that was written. */
export const ownEntry = (
  { entries }: BootMenu,
  { espUuid }: Pick<BootWorld, 'espUuid'>,
): BootEntry | undefined =>
  entries.find(
    ({ label, partUuid }) => label === bootLabel && (espUuid === '' || partUuid === espUuid),
  );

/**
 * Entries that earlier installations have left: of our label, but for another partition than the one that was written.
 * None where the host does not know its partitions.
 */
export const oldEntries = (
  { entries }: BootMenu,
  { espUuid }: Pick<BootWorld, 'espUuid'>,
): readonly BootEntry[] =>
  entries.filter(
    ({ label, partUuid }) => label === bootLabel && espUuid !== '' && partUuid !== espUuid,
  );

/** The boot order with one entry first and the others after it as they were. */
export const orderWithFirst = (order: readonly string[], number: string): readonly string[] => [
  number,
  ...order.filter((other) => other !== number),
];

/**
 * Entries that lead nowhere: their partition is on no disk of the host, or it is the one that was
 * just written and the directory of the loader is no longer on it. Firmware tries them all the
 * same, and some stop there.
 */
export function phantomEntries(
  { entries }: BootMenu,
  { espUuid, partUuids, directories }: BootWorld,
): readonly BootEntry[] {
  // A host that knows no partition GUID cannot know what is missing.
  if (partUuids.size === 0) return [];
  const known = new Set(directories.map((name) => name.toLowerCase()));
  return entries.filter(({ partUuid, path }) => {
    if (partUuid === '') return false;
    if (!partUuids.has(partUuid)) return true;
    const directory = /\\EFI\\([^\\]+)\\/i.exec(path)?.[1]?.toLowerCase();
    return partUuid === espUuid && directory !== undefined && !known.has(directory);
  });
}

/** Why the firmware may start something else; undefined when our entry is the first. */
export function menuDoubt(menu: BootMenu, espUuid: string): string | undefined {
  const own = ownEntry(menu, { espUuid });
  if (own === undefined) return `the firmware has no entry "${bootLabel}" for this disk`;
  const [first] = menu.order;
  if (first === own.number) return undefined;
  return `the firmware boots ${first ?? 'no entry'} before entry ${own.number} of this disk`;
}

/** An EFI system partition that Ignition sees to at the first boot. */
export interface IgnitionEsp {
  readonly device: string;
  readonly label: string;
  /** GPT GUID that it will have, lower case; empty when Ignition leaves it to chance. */
  readonly guid: string;
  /** Its disk loses its table first. */
  readonly isWiped: boolean;
}

/** GPT type of the partition that Power boots from (PReP). */
export const prepType = '9e1a2d38-c612-4316-aa26-8b49521e5a8b';

/** The partitions of a config that firmware boots from: one on each disk of a mirror (Butane, `boot_device.mirror`). */
export const espsOf = ({ storage }: Config, type = espType): readonly IgnitionEsp[] =>
  (storage?.disks ?? []).flatMap(({ device, wipeTable, partitions = [] }) =>
    partitions
      .filter(({ typeGuid }) => typeGuid?.toLowerCase() === type)
      .map(({ label = '', guid = '' }) => {
        return { device, label, guid: guid.toLowerCase(), isWiped: wipeTable === true };
      }),
  );
