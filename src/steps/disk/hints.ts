// Chooses the disk by the hints of the configuration. Exactly one disk must match: the order of the
// disks of a host differs between boots.
import { type DiskHints, givenHints, renderDiskHints } from '../../settings/disk-hints.ts';
import {
  bareWwn,
  type BlockDevice,
  everyDevice,
  isNamed,
  isPartition,
  isUnformatted,
  multipathOver,
} from './block-devices.ts';
import { diskFailure } from './failures.ts';

/** Types of lsblk that can have a partition table and be booted. */
const wholeTypes = /^(disk|loop|mpath|md|raid\d+|linear)$/;

/** Whether the operating system can be written to a device of this type. */
export const isWhole = (device: BlockDevice): boolean =>
  wholeTypes.test(device.type) && !isPartition(device);

/** A disk for people: path, size, model and serial number. */
export function describeDisk({ path, sizeBytes, model, serial }: BlockDevice): string {
  const size = `${(sizeBytes / 1e9).toFixed(sizeBytes < 1e11 ? 1 : 0)} GB`;
  const words = [sizeBytes === 0 ? 'not formatted' : size, model, serial];
  return `${path} (${words.filter((word) => word !== '').join(', ')})`;
}

/**
 * Devices with the lsblk type disk that cannot be installed to: memory, floppies, the boot
 * partitions of an eMMC (Linux, `mmc-dev-parts.rst`).
 */
const noDisks = /^(?:fd\d|z?ram\d|mmcblk\d+(?:boot|rpmb))/;

/**
 * The disks of a host, with multipath devices instead of their paths; each as often as lsblk
 * lists it.
 */
const disksOf = (roots: readonly BlockDevice[]): readonly BlockDevice[] =>
  roots
    .filter(({ type, kname }) => type === 'disk' && !noDisks.test(kname))
    .filter((disk) => disk.sizeBytes > 0 || isUnformatted(disk))
    .map((disk) => multipathOver(disk) ?? disk);

/** The disks of a host by their kernel names. */
export const availableDisks = (roots: readonly BlockDevice[]): readonly BlockDevice[] => [
  ...new Map(disksOf(roots).map((disk) => [disk.kname, disk])).values(),
];

/**
 * The one disk that matches. Arrays and loop devices are considered only if a path leads to one. A
 * multipath device is listed below each of its paths, and matches if one of the paths does.
 * @param paths the targets of the paths in the configuration, by path: those that a disk must have
 * @throws AgentError `disk.not-one`
 */
export function chooseByHints(
  roots: readonly BlockDevice[],
  hints: DiskHints,
  paths: ReadonlyMap<string, string>,
): BlockDevice {
  const named = everyDevice(roots).filter(
    (device) => isWhole(device) && [...paths.values()].some((path) => isNamed(device, path)),
  );
  const nearest = new Map<string, { disk: BlockDevice; against: readonly string[] }>();
  for (const disk of [...disksOf(roots), ...named]) {
    const against = [
      ...[...paths].flatMap(([asked, real]) => (isNamed(disk, real) ? [] : [`not ${asked}`])),
      ...hintsAgainst(hints, disk).map(({ what, is }) => `${what} is ${is || 'not known'}`),
    ];
    const before = nearest.get(disk.kname);
    if (before === undefined || against.length < before.against.length)
      nearest.set(disk.kname, { disk, against });
  }
  const compared = [...nearest.values()].toSorted(
    (one, other) => one.against.length - other.against.length,
  );
  const fitting = compared.filter(({ against }) => against.length === 0).length;
  if (compared[0] !== undefined && fitting === 1) return compared[0].disk;
  const rows = compared.map(
    ({ disk, against }) => `${describeDisk(disk)}: ${against.join(', ') || 'fits'}`,
  );
  const wanted = [...paths.keys(), renderDiskHints({ ...hints, deviceName: undefined })];
  const what = wanted.filter((word) => word !== '').join(' with ');
  throw diskFailure(
    'disk.not-one',
    `${fitting === 0 ? 'no' : fitting} of ${compared.length} disks ${fitting > 1 ? 'fit' : 'fits'} ${what}: ${rows.join('; ') || 'this host has none'}`,
    {
      context: { hints: what, disks: [...nearest.values()].map(({ disk }) => disk.path).join(' ') },
    },
  );
}

const gibibyte = 1024 ** 3;

/**
 * The hints that a disk does not match, with the value of the disk (`is`), empty if it is unknown.
 * The target of a device name is not compared.
 */
export function hintsAgainst(
  hints: DiskHints,
  disk: BlockDevice,
): readonly { readonly what: string; readonly is: string }[] {
  const { own, extension } = partsOfWwn(disk.wwn);
  const whole = bareWwn(disk.wwn);
  const rotational = disk.isRotational?.toString() ?? '';
  const size = disk.sizeBytes / gibibyte;
  const facts: Readonly<Record<string, readonly [value: string, fits: boolean]>> = {
    hctl: [disk.hctl, isSame(hints.hctl, disk.hctl)],
    model: [disk.model, isIn(hints.model, disk.model)],
    vendor: [disk.vendor, isIn(hints.vendor, disk.vendor)],
    serialNumber: [disk.serial, isSame(hints.serialNumber, disk.serial)],
    wwn: [disk.wwn, [whole, own].some((one) => isSame(bareWwn(hints.wwn ?? ''), one))],
    wwnWithExtension: [disk.wwn, isSame(bareWwn(hints.wwnWithExtension ?? ''), whole)],
    wwnVendorExtension: [extension, isSame(bareWwn(hints.wwnVendorExtension ?? ''), extension)],
    minSizeGigabytes: [
      size === 0 ? '' : `${Math.floor(size * 10) / 10} GiB`,
      size >= (hints.minSizeGigabytes ?? 0),
    ],
    rotational: [rotational, rotational === hints.rotational?.toString()],
  };
  return givenHints(hints).flatMap(([name]) => {
    const [value, fits] = facts[name] ?? ['', true];
    return fits ? [] : [{ what: name === 'minSizeGigabytes' ? 'size' : name, is: value }];
  });
}

const isSame = (hint = '', value: string): boolean =>
  value !== '' && value.toLowerCase() === hint.toLowerCase();
const isIn = (hint = '', value: string): boolean =>
  value.toLowerCase().includes(hint.toLowerCase());

/**
 * lsblk prints the WWN with the vendor extension if there is one: 16 more digits (util-linux,
 * `lsblk-properties.c`; systemd, `scsi_id.c`).
 */
function partsOfWwn(wwn: string): { readonly own: string; readonly extension: string } {
  const bare = bareWwn(wwn);
  const isLong = /^0x[0-9a-f]{32}$/i.test(wwn);
  return { own: isLong ? bare.slice(0, 16) : bare, extension: isLong ? bare.slice(16) : '' };
}

/**
 * The hints that distinguish a disk from every other of its host; undefined if it has no identifier
 * of its own: virtual disks have no serial number and no WWN unless the hypervisor sets one. A host
 * may have thousands of disks: each is read once.
 */
export function hintsFor(
  roots: readonly BlockDevice[],
): (disk: BlockDevice) => DiskHints | undefined {
  const fitting = new Map<string, Set<string>>();
  for (const disk of disksOf(roots)) {
    for (const wwn of [bareWwn(disk.wwn), partsOfWwn(disk.wwn).own]) {
      for (const hints of ownHints({ ...disk, wwn })) {
        const key = keyOf(hints);
        fitting.set(key, (fitting.get(key) ?? new Set()).add(disk.kname));
      }
    }
  }
  return (disk) =>
    ownHints(disk).find(({ wwn, ...hints }) => {
      const bare = wwn === undefined ? hints : { ...hints, wwn: bareWwn(wwn) };
      return fitting.get(keyOf(bare))?.size === 1;
    });
}

/** The identifiers of a disk, the best first. */
const ownHints = ({ serial, wwn, hctl }: BlockDevice): readonly DiskHints[] => [
  ...(serial === '' ? [] : [{ serialNumber: serial }]),
  ...(wwn === '' ? [] : [{ wwn }]),
  ...(serial === '' || wwn === '' ? [] : [{ serialNumber: serial, wwn }]),
  ...(hctl === '' ? [] : [{ hctl }]),
];

/** A hint matches letters in either case. */
const keyOf = (hints: DiskHints): string => JSON.stringify(hints).toLowerCase();
