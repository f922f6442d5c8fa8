/** The firmware of a guest. */
export type Firmware = 'bios' | 'uefi';

/**
 * A disk of a guest. Its serial makes it `/dev/disk/by-id/virtio-<serial>` inside, unless it has a
 * WWN.
 */
export interface GuestDisk {
  readonly path: string;
  /** At most 20 letters, digits and hyphens: the limit of virtio. */
  readonly serial: string;
  /**
   * `read-only`, `kept` between guests, or `throwaway`: written to, and forgotten when the guest
   * ends.
   */
  readonly writes: 'read-only' | 'kept' | 'throwaway';
  /**
   * Hexadecimal, with `0x`: it is a disk of a SCSI controller then, `/dev/disk/by-id/wwn-<WWN>`
   * inside.
   */
  readonly wwn?: string;
  /** Logical and physical block size; 512 without it. */
  readonly sectorBytes?: 512 | 4096;
}

/** Kernel, initrd and command line, for a guest that starts without a boot loader. */
interface DirectBoot {
  readonly kernel: string;
  readonly initrd: string;
  readonly commandLine: string;
}

/** The network that a guest starts from. */
interface NetworkBoot {
  /** The folder that the TFTP server serves. */
  readonly folder: string;
  /** The file in it that the firmware loads. */
  readonly file: string;
}

/** A TCP service of this machine, seen in the guest as another host of its network. */
interface GuestForward {
  /** In the subnet; not .2, .3 or .15. */
  readonly guestAddress: string;
  readonly guestPort: number;
  /** On 127.0.0.1 of this machine. */
  readonly hostPort: number;
}

/** A port of the guest, seen on 127.0.0.1 of this machine. */
export interface HostForward {
  readonly hostPort: number;
  readonly guestPort: number;
}

/** Memory of a guest that names none. */
export const usualMemoryMiB = 2048;

/**
 * All that makes one guest. Any port of this machine's loopback is 10.0.2.2 inside, or .2 of
 * another subnet.
 */
export interface GuestShape {
  readonly firmware: Firmware;
  /**
   * UEFI variables that outlive the guest; the file is made when it is not there. Forgotten without
   * it.
   */
  readonly variables?: string;
  readonly memoryMiB?: number;
  readonly disks: readonly GuestDisk[];
  readonly boot?: DirectBoot;
  readonly networkBoot?: NetworkBoot;
  /** The first three numbers of its addresses; 10.0.2 without it. */
  readonly subnet?: string;
  readonly guestForwards?: readonly GuestForward[];
  readonly hostForwards?: readonly HostForward[];
}

/** Files that QEMU reads and writes for one guest. */
export interface GuestFiles {
  /** One file for each serial port, ttyS0 first. */
  readonly serialLogs: readonly string[];
  /** Firmware code and a writable copy of its variables; for UEFI alone. */
  readonly firmware?: { readonly code: string; readonly variables: string };
}

/**
 * The arguments of qemu-system-x86_64 for a guest, emulated, with one processor: two emulated ones
 * wait for each other where two guests share two cores, and patch the code that the other one runs.
 * A reboot inside ends QEMU. The variable BOOTWRIGHT_GUEST_ACCEL may name another accelerator; it
 * is handed in as `accelerator`.
 */
export function qemuArguments(shape: GuestShape, files: GuestFiles, accelerator = 'tcg'): string[] {
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-monitor', 'none', '-no-reboot'],
    ...['-machine', 'q35,sata=off', '-smp', '1', '-m', String(shape.memoryMiB ?? usualMemoryMiB)],
    ...processorArguments(accelerator),
    ...['-device', 'virtio-rng-pci'],
    ...files.serialLogs.flatMap((path) => ['-serial', `file:${path}`]),
    ...firmwareArguments(files),
    ...controllerArguments(shape.disks),
    ...shape.disks.flatMap((disk, index) => diskArguments(disk, index, shape)),
    ...networkArguments(shape),
    ...bootArguments(shape.boot),
  ];
}

function processorArguments(accelerator: string): string[] {
  if (accelerator !== 'tcg') return ['-accel', accelerator, '-cpu', 'host'];
  // QEMU 7.2 with Linux 6.12: an emulated cmpxchg16b can kill the guest's kernel by a double fault.
  // The others cost time: one more level of page tables, a driver for virtual machines inside the
  // guest, and memory that the kernel clears and copies byte by byte where the processor says that
  // this is fast.
  return ['-accel', 'tcg,thread=multi', '-cpu', 'max,-cx16,-la57,-svm,-erms,-fsrm'];
}

function firmwareArguments({ firmware }: GuestFiles): string[] {
  if (firmware === undefined) return [];
  return [
    ...['-drive', `if=pflash,format=raw,readonly=on,file=${firmware.code}`],
    ...['-drive', `if=pflash,format=raw,file=${firmware.variables}`],
  ];
}

function diskArguments(disk: GuestDisk, index: number, { variables }: GuestShape): string[] {
  const id = `disk${index}`;
  const writes = { 'read-only': 'readonly=on', kept: 'discard=unmap', throwaway: 'snapshot=on' };
  // A power cut ends QEMU, not this machine: what QEMU wrote is in the page cache and stays.
  const drive = `if=none,id=${id},file=${disk.path},format=raw,cache=unsafe,${writes[disk.writes]}`;
  const sector = disk.sectorBytes ?? 512;
  const blocks = `logical_block_size=${sector},physical_block_size=${sector}`;
  // OVMF prefers QEMU's order of disks over its own boot entries, so there is no order if entries
  // are kept.
  const order = variables === undefined ? `bootindex=${index + 1},` : '';
  const shared = `drive=${id},${order}${blocks}`;
  const device =
    disk.wwn === undefined
      ? `virtio-blk-pci,serial=${disk.serial},${shared}`
      : `scsi-hd,bus=scsi.0,serial=${disk.serial},wwn=${disk.wwn},${shared}`;
  return ['-drive', drive, '-device', device];
}

function controllerArguments(disks: readonly GuestDisk[]): string[] {
  return disks.some(({ wwn }) => wwn !== undefined) ? ['-device', 'virtio-scsi-pci,id=scsi'] : [];
}

/** Connects its two ends to a port of this machine's loopback; QEMU runs it for each connection. */
const forwardProgram = new URL('forward.sh', import.meta.url).pathname;

function networkArguments(shape: GuestShape): string[] {
  const { subnet, networkBoot } = shape;
  const addresses =
    subnet === undefined
      ? []
      : [
          `net=${subnet}.0/24`,
          ...['host=2', 'dns=3', 'dhcpstart=15'].map((one) => one.replace('=', `=${subnet}.`)),
        ];
  const guest = (shape.guestForwards ?? []).map(
    ({ guestAddress, guestPort, hostPort }) =>
      `guestfwd=tcp:${guestAddress}:${guestPort}-cmd:${forwardProgram} ${hostPort}`,
  );
  const host = (shape.hostForwards ?? []).map(
    ({ hostPort, guestPort }) => `hostfwd=tcp:127.0.0.1:${hostPort}-:${guestPort}`,
  );
  const boot =
    networkBoot === undefined ? [] : [`tftp=${networkBoot.folder}`, `bootfile=${networkBoot.file}`];
  const net = ['user', 'id=net', 'ipv6=off', ...addresses, ...boot, ...guest, ...host].join(',');
  // Without an option ROM the firmware does not try to start from the network; QEMU's own is iPXE.
  const order = networkBoot === undefined ? 'romfile=' : 'bootindex=0';
  return ['-netdev', net, '-device', `virtio-net-pci,netdev=net,${order}`];
}

function bootArguments(boot: DirectBoot | undefined): string[] {
  if (boot === undefined) return [];
  return ['-kernel', boot.kernel, '-initrd', boot.initrd, '-append', boot.commandLine];
}
