/** What a guest starts from. */
export type Firmware = 'bios' | 'uefi';

/** A disk of a guest. Its serial makes it `/dev/disk/by-id/virtio-<serial>` inside. */
export interface GuestDisk {
  readonly path: string;
  /** At most 20 letters, digits and hyphens; virtio carries no more. */
  readonly serial: string;
  /** `read-only`, `kept` between guests, or `throwaway`: written to, and forgotten when the guest ends. */
  readonly writes: 'read-only' | 'kept' | 'throwaway';
  /** Logical and physical block size; 512 without it. */
  readonly sectorBytes?: 512 | 4096;
}

/** Kernel, initrd and command line, for a guest that starts without a boot loader. */
interface DirectBoot {
  readonly kernel: string;
  readonly initrd: string;
  readonly commandLine: string;
}

/** A TCP service of this machine, seen in the guest as another host of its network. */
interface GuestForward {
  /** Within 10.0.2.0/24; not .2, .3 or .15. */
  readonly guestAddress: string;
  readonly guestPort: number;
  /** On 127.0.0.1 of this machine. */
  readonly hostPort: number;
}

/** A port of the guest, seen on 127.0.0.1 of this machine. */
interface HostForward {
  readonly hostPort: number;
  readonly guestPort: number;
}

/** All that makes one guest. Any port of this machine's loopback is 10.0.2.2 inside. */
export interface GuestShape {
  readonly firmware: Firmware;
  /** UEFI variables that outlive the guest; the file is made when it is not there. Forgotten without it. */
  readonly variables?: string;
  readonly memoryMiB?: number;
  readonly disks: readonly GuestDisk[];
  readonly boot?: DirectBoot;
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
 * The arguments of qemu-system-x86_64 for a guest, emulated, with one processor: two emulated ones wait for each other
 * where two guests share two cores, and patch the code that the other one runs. A reboot inside ends QEMU.
 * The variable BOOTWRIGHT_GUEST_ACCEL may name another accelerator; it is handed in as `accelerator`.
 */
export function qemuArguments(shape: GuestShape, files: GuestFiles, accelerator = 'tcg'): string[] {
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-monitor', 'none', '-no-reboot'],
    ...['-machine', 'q35,sata=off', '-smp', '1', '-m', String(shape.memoryMiB ?? 2048)],
    ...processorArguments(accelerator),
    ...['-device', 'virtio-rng-pci'],
    ...files.serialLogs.flatMap((path) => ['-serial', `file:${path}`]),
    ...firmwareArguments(files),
    ...shape.disks.flatMap((disk, index) => diskArguments(disk, index, shape)),
    ...networkArguments(shape),
    ...bootArguments(shape.boot),
  ];
}

function processorArguments(accelerator: string): string[] {
  if (accelerator !== 'tcg') return ['-accel', accelerator, '-cpu', 'host'];
  // QEMU 7.2 with Linux 6.12: an emulated cmpxchg16b can kill the guest's kernel by a double fault. The others cost
  // time: one more level of page tables, a driver for virtual machines inside the guest, and memory that the kernel
  // clears and copies byte by byte where the processor says that this is fast.
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
  // OVMF lets QEMU's order of disks win over its own boot entries, so where these are kept there is none.
  const order = variables === undefined ? `bootindex=${index + 1},` : '';
  const device = `virtio-blk-pci,drive=${id},serial=${disk.serial},${order}${blocks}`;
  return ['-drive', drive, '-device', device];
}

function networkArguments(shape: GuestShape): string[] {
  const guest = (shape.guestForwards ?? []).map(
    ({ guestAddress, guestPort, hostPort }) =>
      `guestfwd=tcp:${guestAddress}:${guestPort}-tcp:127.0.0.1:${hostPort}`,
  );
  const host = (shape.hostForwards ?? []).map(
    ({ hostPort, guestPort }) => `hostfwd=tcp:127.0.0.1:${hostPort}-:${guestPort}`,
  );
  const net = ['user', 'id=net', 'ipv6=off', ...guest, ...host].join(',');
  // Without an option ROM the firmware does not try to start from the network.
  return ['-netdev', net, '-device', 'virtio-net-pci,netdev=net,romfile='];
}

function bootArguments(boot: DirectBoot | undefined): string[] {
  if (boot === undefined) return [];
  return ['-kernel', boot.kernel, '-initrd', boot.initrd, '-append', boot.commandLine];
}
