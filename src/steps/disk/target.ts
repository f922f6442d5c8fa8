// The install disk held against the host as it is now. Between two commands a disk can be pulled,
// and its name and number be given to another: nothing is taken from a disk that was not just seen
// to be the one that was found.
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
 * Names of LVM, and of the volume label of a DASD; the hardware of a DASD has dots in its name
 * (s390-tools, 59-dasd.rules).
 */
const namesContent = /^(?:lvm-pv-uuid-|ccw-[^.]+$)/;

const byIdFolder = '/dev/disk/by-id';

/** Every name in /dev/disk/by-id of a disk, without those that tell what is stored on it. */
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
 * @param links where its names lead to now; names that lead nowhere are not in it
 * @throws AgentError `disk.missing` when it has gone since it was found; `disk.changed` when
 * another disk has its name
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

/** A disk that has the serial number and the WWN of the install disk. */
const isSurely = (device: BlockDevice, target: DiskIdentity): boolean =>
  device.type === target.type &&
  device.serial === target.serial &&
  device.wwn === target.wwn &&
  (hardwareSerial(target) !== '' || hasWwn(target));

/**
 * The serial number that the hardware has. That of a DASD is in its volume label, which the writer
 * writes again (s390-tools, `fdasd.c`). Where udev found none, lsblk prints the WWN (util-linux
 * issue 1143).
 */
const hardwareSerial = ({
  name,
  serial,
  wwn,
}: Pick<BlockDevice, 'name' | 'serial' | 'wwn'>): string =>
  name.startsWith('dasd') || wwn.toLowerCase() === `0x${serial}`.toLowerCase() ? '' : serial;

/**
 * What is not known on one side tells nothing: virtual disks have neither, and udev may be reading
 * them again.
 */
const isAlike = (one: string, other: string): boolean =>
  one === '' || other === '' || inUdevLetters(one) === inUdevLetters(other);

/**
 * What shows that a device is another disk than the one that was found; undefined when nothing
 * does.
 */
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
  // The writer formats a DASD, which gives it its size; where no size is known there is none to
  // compare.
  const isSized = sizeBytes > 0 && target.sizeBytes > 0 && !device.kname.startsWith('dasd');
  if (isSized && sizeBytes !== target.sizeBytes) {
    return `it has ${sizeBytes} bytes, not ${target.sizeBytes}`;
  }
  // The kernel itself says these; udev may be reading the others again.
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
 * Whether a disk is known although one of its names leads to another. Disks with one WWN share the
 * name of it, namespaces of one NVMe drive that of the drive (systemd issue 31448, until systemd
 * 257), as do the paths of a LUN without multipath. The serial number tells which disk is meant, or
 * the WWN where they share that number too.
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
 * Compares what a name in /dev/disk/by-id says of a disk with what the disk says of itself (udev,
 * 60-persistent-storage.rules). Undefined when they agree, or when one of them says nothing.
 */
export function nameDifference(asked: string, device: BlockDevice): string | undefined {
  const name = nameIn(asked);
  const wwn = wwnIn(name);
  if (wwn !== undefined) {
    const own = bareWwn(device.wwn);
    return own === '' || startsAlike(own, wwn) ? undefined : `its WWN is ${device.wwn}`;
  }
  const serial = hardwareSerial(device);
  if (!/^(ata|nvme|virtio)-/.test(name) || serial === '') return undefined;
  const isSame = inUdevLetters(name).includes(inUdevLetters(serial));
  return isSame ? undefined : `its serial number is ${serial}`;
}

/** A name in /dev/disk/by-id; empty for any other path. */
const nameIn = (asked: string): string =>
  asked.startsWith(`${byIdFolder}/`) ? asked.slice(byIdFolder.length + 1) : '';

/** The WWN that a name in /dev/disk/by-id consists of. */
const wwnIn = (name: string): string | undefined =>
  /^(?:wwn-0x|scsi-[23]|nvme-(?:eui|uuid|nvme)\.)([0-9a-f-]+)$/i.exec(name)?.[1];

/**
 * Other disks that a name in /dev/disk/by-id fits as well as the one that it leads to: it leads to
 * whichever udev saw last. Paths of a multipath device are no other disks.
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
  // A path that multipathd has not taken yet.
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
 * Of namespaces with the serial number of their drive, a name may tell the id of one (udev,
 * `ID_NSID`).
 */
function isOfNamespace(name: string, { kname, serial, namespaceId }: BlockDevice): boolean {
  const number = /_(\d+)$/.exec(name.slice(name.indexOf(inUdevLetters(serial))))?.[1];
  const isAny = number === undefined || namespaceId === undefined || !kname.startsWith('nvme');
  return isAny || number === namespaceId;
}

/** Below this it may be a part of another number. */
const shortestSerial = 4;

/** A WWN may stand with or without its vendor extension. */
const startsAlike = (one: string, other: string): boolean => {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.startsWith(b) || b.startsWith(a);
};

/** udev writes `_` for whatever is not safe in a file name. */
const inUdevLetters = (text: string): string => text.trim().replace(/[^0-9A-Za-z#+\-.:=@]+/g, '_');

/** Whether a failure says that the install disk is not there, or not the one that was found. */
export const isOtherDisk = ({ code }: AgentError): boolean =>
  code === 'disk.changed' || code === 'disk.missing';

/** The block devices of the host, and which of them the install disk is. */
export interface Disks {
  readonly roots: readonly BlockDevice[];
  readonly disk: BlockDevice;
}

/**
 * The present disks of the host, the install disk among them, with all that is mounted.
 * @param limit of listing them
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
 * The present install disk, with all that is mounted.
 * @throws AgentError `disk.missing`, `disk.changed`, `disk.unreadable`, `command.*`
 */
export const readTarget = async (...asked: Parameters<typeof readDisks>): Promise<BlockDevice> =>
  (await readDisks(...asked)).disk;

/** Where the names of a disk lead now. */
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
 * Runs a command that takes data from the install disk or names it to the firmware, right after it
 * was found to be the same disk.
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
