import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Device } from './block/device.ts';
import { devicesOf, type Mount } from './block/devices.ts';
import { Leftovers, remainsOn } from './block/leftovers.ts';
import { hostFiles, syncDev } from './files.ts';
import { firmwareOf } from './firmware.ts';
import type { Machine } from './machine.ts';
import { WriterSettings } from './writer-settings.ts';

/** A disk as a scenario describes it. */
const DiskPlan = z.strictObject({
  name: z.string().regex(/^(sd[a-z]|vd[a-z]|nvme\dn\d)$/),
  sizeGiB: z.number().positive().default(120),
  sectorBytes: z.union([z.literal(512), z.literal(4096)]).default(512),
  leftovers: Leftovers.default('none'),
  isReadOnly: z.boolean().default(false),
});
type DiskPlan = z.infer<typeof DiskPlan>;

/** A host as a scenario describes it. */
export const HostPlan = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  firmware: z.enum(['uefi', 'bios']).default('uefi'),
  /** The firmware accepts a boot order and forgets it. */
  forgetsBootOrder: z.boolean().default(false),
  disks: z.array(DiskPlan).default(() => [DiskPlan.parse({ name: 'sda' })]),
  write: WriterSettings.prefault({}),
  /** Units that run beside the usual ones; `ironic-agent.service` for a host of Ironic. */
  units: z.array(z.string()).default([]),
});
export type HostPlan = z.infer<typeof HostPlan>;

const GIBIBYTE = 2 ** 30;

/** Makes a simulated host whose files lie below a directory. */
export function buildMachine(plan: HostPlan, root: string): Machine {
  const disks = plan.disks.map(diskDevice);
  const remains = disks.map((disk, index) =>
    remainsOn(disk, plan.disks[index]?.leftovers ?? 'none', index),
  );
  const all = [...disks, ...remains.flatMap(({ devices }) => devices), liveMedium];
  const devices = devicesOf(all, () => {
    syncDev(root, devices);
  });
  devices.mounts.push(...liveMounts, ...remains.flatMap(({ mounts }) => mounts));
  devices.swaps.push(...remains.flatMap(({ swaps }) => swaps));
  writeLiveSystem(root, plan.firmware);
  syncDev(root, devices);
  return {
    name: plan.name,
    devices,
    firmware: firmwareOf(plan.firmware, plan.forgetsBootOrder),
    files: hostFiles(root),
    writer: { ...plan.write },
    ran: [],
    unknown: [],
    locks: new Set(),
    deployments: new Map(),
    selinux: { isEnforcing: true },
    grown: new Set(),
    units: new Set(['agent.service', ...plan.units]),
  };
}

function diskDevice(plan: DiskPlan, index: number): Device {
  const number = String(index + 1).padStart(2, '0');
  return {
    kname: plan.name,
    name: plan.name,
    majorMinor: `8:${index * 16}`,
    type: 'disk',
    sizeBytes: plan.sizeGiB * GIBIBYTE,
    sectorBytes: plan.sectorBytes,
    parents: [],
    isReadOnly: plan.isReadOnly,
    identity: {
      serial: `LAB${number}`,
      wwn: `0x5000c500a1b2c3${number}`,
      model: 'Lab Disk',
      vendor: 'LAB',
      transport: 'sata',
    },
  };
}

const liveMedium: Device = {
  kname: 'sr0',
  name: 'sr0',
  majorMinor: '11:0',
  type: 'rom',
  sizeBytes: 2 ** 30,
  sectorBytes: 2048,
  parents: [],
  content: { fstype: 'iso9660', label: 'lab-live', uuid: '2026-01-01-00-00-00-00' },
};

/** What a live system has mounted when it starts. */
export const liveMounts: readonly Mount[] = [
  { source: 'overlay', target: '/', fstype: 'overlay', options: 'rw' },
  { source: '/dev/sr0', target: '/run/media/iso', fstype: 'iso9660', options: 'ro' },
];

/** Writes the files of a live system that has just started, with a boot id of its own. */
export function writeLiveSystem(root: string, firmware: 'uefi' | 'bios'): void {
  const cmdline =
    'BOOT_IMAGE=/images/pxeboot/vmlinuz ignition.platform.id=metal coreos.liveiso=lab-live';
  const files: Readonly<Record<string, string>> = {
    'proc/cmdline': `${cmdline}\n`,
    'proc/sys/kernel/random/boot_id': `${randomUUID()}\n`,
    'run/coreos-installer/osmet/labcoreos-x86_64.osmet': '',
    'etc/os-release': 'NAME="Lab CoreOS"\nID=labcoreos\n',
    'etc/resolv.conf': 'nameserver 127.0.0.1\n',
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const folders = [
    'opt',
    'var/log',
    'tmp',
    'etc/pki',
    'run/lock',
    'mnt',
    'dev/disk/by-id',
    'ostree/deploy',
  ];
  const firmwareFolder = firmware === 'uefi' ? ['sys/firmware/efi'] : ['sys/firmware'];
  for (const folder of [...folders, ...firmwareFolder]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
}
