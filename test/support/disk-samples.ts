import { type BlockDevice } from '../../src/steps/disk/block-devices.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { KeptPartition, TargetDisk } from '../../src/steps/disk/facts.ts';
import { type FakeHost, fakeHost, rest } from './fake-host.ts';

const gibibyte = 1024 ** 3;

const typeOf = (kname: string): string => {
  if (kname.startsWith('dm-')) return 'lvm';
  if (kname.startsWith('md')) return 'raid1';
  return 'disk';
};

/**
 * A block device for tests: a kernel name, differences from a plain 100 GiB disk, and its
 * partitions.
 */
export function blockDevice(
  kname: string,
  differs: Partial<BlockDevice> = {},
  children: readonly BlockDevice[] = [],
): BlockDevice {
  const name = differs.name ?? kname;
  return {
    name,
    kname,
    path: kname.startsWith('dm-') ? `/dev/mapper/${name}` : `/dev/${name}`,
    majorMinor: `8:${Number.parseInt(kname.replaceAll(/[^a-z0-9]/g, ''), 36)}`,
    type: typeOf(kname),
    sizeBytes: 100 * gibibyte,
    sectorBytes: 512,
    isReadOnly: false,
    mountpoints: [],
    fsType: '',
    label: '',
    partLabel: '',
    partType: '',
    partUuid: '',
    serial: '',
    wwn: '',
    model: '',
    vendor: '',
    hctl: '',
    children,
    ...differs,
  };
}

/** A partition for tests. */
export const partition = (
  kname: string,
  differs: Partial<BlockDevice> = {},
  children: readonly BlockDevice[] = [],
): BlockDevice => blockDevice(kname, { type: 'part', sizeBytes: gibibyte, ...differs }, children);

/** The GUID of the EFI system partition of `coreOsDisk`. */
export const espUuid = 'aaaaaaaa-0000-4000-8000-000000000002';

/** A disk with the partitions of a CoreOS image, sized as in RHCOS. */
export function coreOsDisk(kname: string, differs: Partial<BlockDevice> = {}): BlockDevice {
  const separator = /\d$/.test(kname) ? 'p' : '';
  const part = (number: number, more: Partial<BlockDevice>): BlockDevice =>
    partition(`${kname}${separator}${number}`, more);
  return blockDevice(kname, { sizeBytes: 100_000_000_000, ...differs }, [
    part(1, { sizeBytes: 1_048_576, partLabel: 'BIOS-BOOT' }),
    part(2, {
      sizeBytes: 133_169_152,
      partLabel: 'EFI-SYSTEM',
      partType: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
      partUuid: espUuid,
    }),
    part(3, { sizeBytes: 402_653_184, partLabel: 'boot', label: 'boot' }),
    part(4, { sizeBytes: 3_272_588_800, partLabel: 'root', label: 'root' }),
  ]);
}

/** Devices in the output format of lsblk. */
export const lsblkOutput = (...roots: readonly BlockDevice[]): string =>
  JSON.stringify({ blockdevices: roots.map(printed) });

function printed(device: BlockDevice): object {
  return {
    name: device.name,
    kname: device.kname,
    'maj:min': device.majorMinor,
    type: device.type,
    size: device.sizeBytes,
    'log-sec': device.sectorBytes,
    ro: device.isReadOnly,
    rota: device.isRotational ?? null,
    mountpoints: device.mountpoints.length === 0 ? [null] : device.mountpoints,
    ...nullIfEmpty({
      fstype: device.fsType,
      label: device.label,
      partlabel: device.partLabel,
      parttype: device.partType,
      partuuid: device.partUuid,
      serial: device.serial,
      wwn: device.wwn,
      model: device.model,
      vendor: device.vendor,
      hctl: device.hctl,
    }),
    ...(device.children.length === 0 ? {} : { children: device.children.map(printed) }),
  };
}

const nullIfEmpty = (texts: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text || null]));

/** Output of sfdisk for a GPT: number, label and place in mebibytes of each partition. */
export const sfdiskOutput = (
  ...partitions: readonly (readonly [number: number, label: string, startMiB: number])[]
): string =>
  JSON.stringify({
    partitiontable: {
      label: 'gpt',
      partitions: partitions.map(([number, name, startMiB]) => ({
        node: `/dev/sda${number}`,
        start: startMiB * 2048,
        size: 1024 * 2048,
        uuid: `${startMiB}-UUID`,
        ...(name === '' ? {} : { name }),
      })),
    },
  });

/** The fact of a kept partition. */
export const keptPartition = (number: number, label: string, startMiB: number): KeptPartition => ({
  number,
  label,
  partUuid: `${startMiB}-uuid`,
  startBytes: startMiB * 1024 ** 2,
  sizeBytes: gibibyte,
});

/** The fact of an install disk. */
export const targetOf = (device: BlockDevice): TargetDisk => ({
  path: `/dev/${device.kname}`,
  asked: `/dev/${device.kname}`,
  name: device.kname,
  majorMinor: device.majorMinor,
  sizeBytes: device.sizeBytes,
  sectorBytes: device.sectorBytes,
  type: device.type,
  serial: device.serial,
  wwn: device.wwn,
  byId: [],
});

/**
 * A live host on which every command succeeds, with a disk for an operating system.
 * @param clock lets a hanging command reach its limit
 */
export const deployableHost = (
  disk: BlockDevice,
  commandLine = 'ignition.platform.id=metal',
  clock?: Clock,
): FakeHost =>
  fakeHost(clock === undefined ? {} : { clock })
    .on([rest])
    .succeeds()
    .on(['uname', '-m'])
    .prints('x86_64')
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(['getenforce'])
    .prints('Disabled')
    .on(['cat', '/proc/cmdline'])
    .prints(commandLine)
    .withFile(
      '/mnt/boot/loader/entries/ostree-2-rhcos.conf',
      'options ostree=/ostree/boot.1/r/c/0',
    );
