// Compares the install disk with the current devices of the host. Between two commands a disk can
// be pulled, and another disk can get its name and number: no command takes data from a disk unless
// this check identified it right before.
import type { Millis } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { CommandResult, ExecOptions, Host } from '../../ports/host.ts';
import {
  bareWwn,
  deviceAt,
  disksUnder,
  everyDevice,
  multipathOver,
  readBlockDevices,
  withDescendants,
  type BlockDevice,
} from './block-devices.ts';
import { diskFailure } from './failures.ts';
import type { DiskIdentity } from './facts.ts';
import { hintsAgainst } from './hints.ts';

/**
 * Names of LVM, and of the volume label of a DASD; the hardware name of a DASD contains dots
 * (s390-tools, 59-dasd.rules).
 */
const namesContent = /^(?:lvm-pv-uuid-|ccw-[^.]+$)/;

const byIdFolder = '/dev/disk/by-id';

/** Every name of a disk in /dev/disk/by-id, except names of its content. */
export async function byIdNames(
  host: Host,
  path: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const links = await linksTo(host, { folder: byIdFolder, path }, signal);
  return links.filter((link) => !namesContent.test(link.slice(byIdFolder.length + 1)));
}

/** The links in a folder that lead to a path. */
export async function linksTo(
  host: Host,
  { folder, path }: { readonly folder: string; readonly path: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const own: string[] = [];
  for (const name of await host.list(folder, signal)) {
    const link = `${folder}/${name}`;
    if ((await host.realPath(link, signal)) === path) own.push(link);
  }
  return own;
}

/**
 * The install disk among the devices of the host.
 * @param links current targets of its names; dangling names are missing
 * @throws AgentError `disk.missing` if it has gone since its discovery; `disk.changed` if another
 * disk has its name
 */
export function targetAmong(
  roots: readonly BlockDevice[],
  target: DiskIdentity,
  links: ReadonlyMap<string, string> = new Map(),
): BlockDevice {
  const { path, serial, wwn } = target;
  const devices = everyDevice(roots);
  const found = devices.find(
    ({ majorMinor, kname }) => majorMinor === target.majorMinor && kname === target.name,
  );
  const difference = found && differenceOf(roots, found, target, links);
  if (found !== undefined && difference === undefined) return found;
  const moved = devices.find((device) => device !== found && isSurely(device, target));
  const what: string[] = [];
  if (difference !== undefined) what.push(`${path} is another disk now: ${difference}`);
  if (moved !== undefined) what.push(`the install disk is ${moved.path} now`);
  if (what.length > 0) {
    const now = moved === undefined ? {} : { now: moved.path };
    const context = { disk: path, serial, wwn, ...now };
    throw diskFailure('disk.changed', what.join('; '), { context });
  }
  throw diskFailure('disk.missing', `${path} has disappeared since it was found`, {
    hint: 'check the cabling of the disk and the kernel log of the host (journalctl -k)',
    context: { disk: path },
  });
}

/** An identifier of zeros, as firmware without one reports it, identifies nothing. */
export const hasWwn = ({ wwn }: Pick<BlockDevice, 'wwn'>): boolean =>
  /[1-9a-f]/i.test(bareWwn(wwn));

/** Whether a disk has the serial number and the WWN of the install disk. */
const isSurely = (device: BlockDevice, target: DiskIdentity): boolean =>
  device.type === target.type &&
  device.serial === target.serial &&
  device.wwn === target.wwn &&
  (hardwareSerial(target) !== '' || hasWwn(target));

/**
 * The serial number of the hardware. That of a DASD is in its volume label, which the writer
 * replaces (s390-tools, `fdasd.c`). If udev found none, lsblk prints the WWN (util-linux issue
 * 1143).
 */
const hardwareSerial = ({
  name,
  serial,
  wwn,
}: Pick<BlockDevice, 'name' | 'serial' | 'wwn'>): string =>
  name.startsWith('dasd') || wwn.toLowerCase() === `0x${serial}`.toLowerCase() ? '' : serial;

/**
 * A value that is unknown on one side is no difference: virtual disks have none, and udev may be
 * reading it again.
 */
const isAlike = (one: string, other: string): boolean =>
  one === '' || other === '' || inUdevLetters(one) === inUdevLetters(other);

/** A property that differs from the discovered disk; undefined if there is no difference. */
function differenceOf(
  roots: readonly BlockDevice[],
  device: BlockDevice,
  target: DiskIdentity,
  links: ReadonlyMap<string, string>,
): string | undefined {
  const { serial, wwn, sizeBytes } = device;
  if (!isAlike(hardwareSerial(device), hardwareSerial(target)))
    return `its serial number is ${serial}`;
  if (!isAlike(wwn, target.wwn)) return `its WWN is ${wwn}`;
  // The writer formats a DASD, which gives it its size; an unknown size is not compared.
  const isSized = sizeBytes > 0 && target.sizeBytes > 0 && !device.kname.startsWith('dasd');
  if (isSized && sizeBytes !== target.sizeBytes) {
    return `it has ${sizeBytes} bytes, not ${target.sizeBytes}`;
  }
  // These values come from the kernel itself; udev may be reading the others again.
  const { hctl, vendor, rotational } = target.hints ?? {};
  const other = hintsAgainst({ hctl, vendor, rotational }, device).find(({ is }) => is !== '');
  if (other !== undefined) return `its ${other.what} is ${other.is}`;
  for (const [link, path] of links) {
    const other = deviceAt(roots, path);
    if (other === undefined || isRelated(roots, device, other)) continue;
    if (!isKnownWithout(device, other, target)) return `${link} is ${path}`;
  }
  return nameDifference(target.asked, device);
}

/**
 * Whether a disk is identified although one of its names leads to another disk. Disks with one WWN
 * share the name of the WWN, namespaces of one NVMe drive share the name of the drive (systemd
 * issue 31448, until systemd 257), as do the paths of a LUN without multipath. The serial number
 * identifies the disk, or the WWN if they share the serial number too.
 */
function isKnownWithout(device: BlockDevice, other: BlockDevice, target: DiskIdentity): boolean {
  const serial = hardwareSerial(device);
  if (serial === '' || hardwareSerial(target) === '' || other.serial === '') return false;
  if (serial !== other.serial) return true;
  return device.wwn !== '' && target.wwn !== '' && (hasWwn(device) || device.wwn !== other.wwn);
}

/** Names of a multipath device may lead to one of its paths for a while. */
const isRelated = (
  roots: readonly BlockDevice[],
  device: BlockDevice,
  other: BlockDevice,
): boolean =>
  [...disksUnder(roots, device), ...withDescendants(device)].some(
    ({ kname }) => kname === other.kname,
  );

/**
 * Compares the identifiers in a name in /dev/disk/by-id with the identifiers of the disk (udev,
 * 60-persistent-storage.rules). Undefined if they agree, or if one side has none.
 */
export function nameDifference(asked: string, device: BlockDevice): string | undefined {
  const name = nameIn(asked);
  const wwn = wwnIn(name);
  if (wwn !== undefined)
    return startsAlike(bareWwn(device.wwn), wwn) ? undefined : `its WWN is ${device.wwn}`;
  if (!/^(ata|nvme|virtio)-/.test(name)) return undefined;
  const serial = hardwareSerial(device);
  const isSame = inUdevLetters(name).includes(inUdevLetters(serial));
  return isSame ? undefined : `its serial number is ${serial}`;
}

/** A name in /dev/disk/by-id; empty for any other path. */
const nameIn = (asked: string): string =>
  asked.startsWith(`${byIdFolder}/`) ? asked.slice(byIdFolder.length + 1) : '';

/** The WWN in a name in /dev/disk/by-id. */
const wwnIn = (name: string): string | undefined =>
  /^(?:wwn-0x|scsi-[23]|nvme-(?:eui|uuid|nvme)\.)([0-9a-f-]+)$/i.exec(name)?.[1];

/**
 * Other disks that a name in /dev/disk/by-id matches as well as its target: the link leads to the
 * disk that udev processed last. Paths of a multipath device are not other disks.
 */
export function rivalsOf(
  roots: readonly BlockDevice[],
  asked: string,
  device: BlockDevice,
): readonly BlockDevice[] {
  const name = nameIn(asked);
  const disks = roots.map((root) => multipathOver(root) ?? root);
  return [...new Map(disks.map((disk) => [disk.kname, disk])).values()].filter(
    (other) => fitsToo(name, device, other) && !isRelated(roots, device, other),
  );
}

function fitsToo(name: string, device: BlockDevice, other: BlockDevice): boolean {
  const wwn = wwnIn(name);
  // A path that multipathd has not claimed yet.
  if (device.type === 'mpath' && device.serial === other.serial) return false;
  if (wwn !== undefined) return other.wwn !== '' && startsAlike(bareWwn(other.wwn), wwn);
  return /^(ata|nvme|virtio|usb|scsi-[01S])/.test(name) && fitsBySerial(name, device, other);
}

function fitsBySerial(name: string, device: BlockDevice, other: BlockDevice): boolean {
  const text = inUdevLetters(name);
  const isIn = (part: string): boolean => part !== '' && text.includes(inUdevLetters(part));
  const [own, serial] = [hardwareSerial(device), hardwareSerial(other)];
  if (!isIn(serial) || serial.length < (isIn(own) ? own.length : shortestSerial)) return false;
  return (
    isOfNamespace(text, other) && (other.model === '' || !isIn(device.model) || isIn(other.model))
  );
}

/**
 * Whether a name with a namespace id (udev, `ID_NSID`) belongs to this namespace: all namespaces
 * have the serial number of their drive.
 */
function isOfNamespace(name: string, { kname, serial, namespaceId }: BlockDevice): boolean {
  const number = /_(\d+)$/.exec(name.slice(name.indexOf(inUdevLetters(serial))))?.[1];
  const isAny = number === undefined || namespaceId === undefined || !kname.startsWith('nvme');
  return isAny || number === namespaceId;
}

/** A shorter serial number may be a part of another number. */
const shortestSerial = 4;

/** A WWN may be given with or without its vendor extension. */
const startsAlike = (one: string, other: string): boolean => {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.startsWith(b) || b.startsWith(a);
};

/** udev writes `_` for every character that is not safe in a file name. */
const inUdevLetters = (text: string): string => text.trim().replace(/[^0-9A-Za-z#+\-.:=@]+/g, '_');

/**
 * Whether a failure means that the install disk is missing, or is another disk than the discovered
 * one.
 */
export const isOtherDisk = ({ code }: AgentError): boolean =>
  code === 'disk.changed' || code === 'disk.missing';

/** The block devices of the host, and the install disk among them. */
export interface Disks {
  readonly roots: readonly BlockDevice[];
  readonly disk: BlockDevice;
}

/**
 * The current disks of the host with the install disk among them, and all mounts.
 * @param limit of the list command
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.unreadable`, `command.*`
 */
export async function readDisks(
  host: Host,
  target: DiskIdentity,
  signal: AbortSignal,
  limit?: Millis,
): Promise<Disks> {
  const roots = await readBlockDevices(host, signal, limit);
  return { roots, disk: targetAmong(roots, target, await linksOf(host, target, signal)) };
}

/**
 * The current install disk with all mounts.
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.unreadable`, `command.*`
 */
export const readTarget = async (...asked: Parameters<typeof readDisks>): Promise<BlockDevice> =>
  (await readDisks(...asked)).disk;

/** The current targets of the names of a disk. */
export async function linksOf(
  host: Host,
  { asked, byId }: DiskIdentity,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const links = new Map<string, string>();
  for (const link of new Set([asked, ...byId])) {
    const path = await host.realPath(link, signal);
    if (path !== undefined) links.set(link, path);
  }
  return links;
}

/**
 * Runs a command that takes data from the install disk or names it to the firmware, right after a
 * check that it is the same disk.
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.unreadable`, `command.*`
 */
export async function execOnTarget(
  { host, target }: { readonly host: Host; readonly target: DiskIdentity },
  argv: readonly string[],
  options: ExecOptions,
): Promise<CommandResult> {
  await readTarget(host, target, options.signal);
  return host.exec(argv, options);
}
