import { z } from 'zod';
import { type Device, devicesOf } from './devices.ts';
import { Leftovers, mirrorArrays, remainsOn } from './disk-layout.ts';
import { hostFiles, syncDev } from './files.ts';
import { firmwareOf } from './firmware.ts';
import { noImages } from './images.ts';
import { simulateUnits, liveMounts, liveUnits, writeLiveSystem } from './live-system.ts';
import { liveFields, type LiveSystem, type Machine, WriterSettings } from './machine.ts';
import type { RegistryNetwork } from '../registries/network.ts';

/** A disk in a scenario. */
const DiskPlan = z.strictObject({
  name: z.string().regex(/^(sd[a-z]|vd[a-z]|nvme\dn\d)$/),
  sizeGiB: z.number().positive().default(120),
  sectorBytes: z.union([z.literal(512), z.literal(4096)]).default(512),
  leftovers: Leftovers.default('none'),
  /** World Wide Name; a generated one by default. */
  wwn: z.string().optional(),
  /** Serial number; a generated one by default. */
  serial: z.string().optional(),
});
type DiskPlan = z.infer<typeof DiskPlan>;

/** A host in a scenario. */
export const HostPlan = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/),
  ...liveFields,
  disks: z.array(DiskPlan).default(() => [DiskPlan.parse({ name: 'sda' })]),
  write: WriterSettings.prefault({}),
  /** The hostname of the system; the name of the host by default. */
  hostname: z.string().optional(),
  addresses: z.array(z.string()).default([]),
});
export type HostPlan = z.infer<typeof HostPlan>;

const GIBIBYTE = 2 ** 30;

/** The environment of a simulated host. */
export interface HostSite {
  /** Files of its live medium, by path from the root. */
  readonly files?: Readonly<Record<string, string>>;
  /** Registries; without them every image is available. */
  readonly network?: RegistryNetwork | undefined;
}

/** Creates a simulated host with its files below a directory. */
export function buildMachine(
  plan: HostPlan,
  root: string,
  { files = {}, network }: HostSite = {},
): Machine {
  const disks = plan.disks.map(diskDevice);
  const remains = disks.map((disk, index) =>
    remainsOn(disk, plan.disks[index]?.leftovers ?? 'none', index),
  );
  const left = remains.flatMap(({ devices }) => devices);
  const all = [...disks, ...left, ...mirrorArrays(left), liveMedium];
  const devices = devicesOf(all, () => {
    syncDev(root, devices);
  });
  devices.mounts.push(...liveMounts, ...remains.flatMap(({ mounts }) => mounts));
  devices.swaps.push(...remains.flatMap(({ swaps }) => swaps));
  const live: LiveSystem = { ...plan, hostname: plan.hostname ?? plan.name, files };
  writeLiveSystem(root, live);
  syncDev(root, devices);
  const machine: Machine = {
    name: plan.name,
    live,
    hostname: live.hostname,
    addresses: plan.addresses,
    devices,
    firmware: firmwareOf(plan.firmware),
    files: hostFiles(root),
    writer: { ...plan.write },
    ran: [],
    unknown: [],
    journal: [],
    locks: new Set(),
    images: noImages(network),
    deployments: new Map(),
    selinux: { isEnforcing: true },
    frozen: new Set(),
    units: liveUnits(live),
    stores: new Map(),
  };
  simulateUnits(machine);
  return machine;
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
    identity: {
      serial: plan.serial ?? `LAB${number}`,
      wwn: plan.wwn ?? `0x5000c500a1b2c3${number}`,
      model: 'Lab Disk',
      vendor: 'LAB',
      hctl: `${index}:0:0:0`,
      isRotational: false,
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
