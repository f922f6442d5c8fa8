// The live system that a host starts from its medium: its files, its mounts, its units. It is in
// memory and new after each start.
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mount } from './devices.ts';
import type { LiveSystem, Machine } from './machine.ts';
import { type UnitBehaviour, type Units, unitsOf } from './units.ts';

/** The mounts of a live system at its start. */
export const liveMounts: readonly Mount[] = [
  { source: 'overlay', target: '/', fstype: 'overlay', options: 'rw' },
  { source: '/dev/sr0', target: '/run/media/iso', fstype: 'iso9660', options: 'ro' },
];

/** Units that run in every live system, and units that have a file but do not run. */
const usual = ['agent.service', 'NetworkManager.service'];
const nodeImage = {
  pull: 'node-image-pull.service',
  overlay: 'node-image-overlay.service',
} as const;

/** Memory of every simulated host. */
export const memoryKibibytes = 16_108_544;

/** Writes the files of a live system that has just started, with a new boot id. */
export function writeLiveSystem(root: string, live: LiveSystem): void {
  const cmdline =
    'BOOT_IMAGE=/images/pxeboot/vmlinuz ignition.platform.id=metal coreos.liveiso=lab-live';
  const files: Readonly<Record<string, string>> = {
    'proc/meminfo': `MemTotal:       ${memoryKibibytes} kB\nMemFree:        14011392 kB\n`,
    'proc/cmdline': `${cmdline}\n`,
    'proc/sys/kernel/random/boot_id': `${randomUUID()}\n`,
    'proc/sys/kernel/hostname': `${live.hostname}\n`,
    'run/coreos-installer/osmet/labcoreos-x86_64.osmet': '',
    'etc/os-release': 'NAME="Lab CoreOS"\nID=labcoreos\n',
    'etc/resolv.conf': 'nameserver 127.0.0.1\n',
    'etc/hostname': `${live.hostname}\n`,
    ...(live.hasOc ? { 'usr/bin/oc': '' } : {}),
    ...registryFiles(live),
    ...live.files,
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const folders = ['opt', 'var/log', 'tmp', 'etc/pki', 'run/lock', 'mnt', 'root', 'usr/bin'];
  const ofFirmware = live.firmware === 'uefi' ? 'sys/firmware/efi' : 'sys/firmware';
  for (const folder of [...folders, 'dev/disk/by-id', 'ostree/deploy', ofFirmware]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
}

/** An appliance has its registry on the medium; its data is mounted next to it. */
function registryFiles({ registryKibibytes }: LiveSystem): Readonly<Record<string, string>> {
  if (registryKibibytes === 0) return {};
  const half = 'r'.repeat(registryKibibytes * 512);
  return {
    'run/media/iso/registry/data': '',
    'mnt/agentdata/docker/registry/v2/blobs/one': half,
    'mnt/agentdata/docker/registry/v2/blobs/two': half,
  };
}

/** The units of a live system that has just started. */
export const liveUnits = (live: LiveSystem): Units =>
  unitsOf([...usual, ...live.units], Object.values(nodeImage));

/** Resets the units of a live system to their state after a start. */
function restartUnits({ units, live }: Machine): void {
  units.reset([...usual, ...live.units], Object.values(nodeImage));
}

/** Simulates the units of a live system: they unpack `oc` from the node image and keep DNS. */
export function simulateUnits(machine: Machine): void {
  const { units, live } = machine;
  units.onStart.set(nodeImage.pull, async (become, signal) => {
    become('activating');
    await sleep(live.nodeImageSeconds * 1000, undefined, { signal });
    become('active');
  });
  units.onStart.set(nodeImage.overlay, overlayLife(machine));
  units.onStart.set('NetworkManager.service', (become) => {
    become('active');
    prependLocalDns(machine);
  });
}

const overlayLife =
  ({ units, live, files }: Machine): UnitBehaviour =>
  async (become, signal) => {
    become('activating');
    if ((await units.settled(nodeImage.pull, signal)) !== 'active') {
      become('failed');
      return;
    }
    await sleep(live.nodeImageSeconds * 1000, undefined, { signal });
    writeFileSync(files.real('/usr/bin/oc'), '');
    become('active');
  };

/** The dispatcher script of the bootstrap Ignition config puts the host's own resolver first. */
function prependLocalDns({ files }: Machine): void {
  writeFileSync(
    files.real('/etc/resolv.conf'),
    'search lab.example.test\nnameserver 192.168.126.10\nnameserver 127.0.0.1\n',
  );
}

/** Folders of a live system that are lost with its power; it has no disk of its own. */
const inMemory = ['opt', 'run', 'tmp', 'var', 'etc', 'root', 'home', 'usr', 'mnt', '.covered'];

/**
 * Starts the live system of a machine again: the content of memory is lost, the disks are
 * unchanged.
 */
export function restartLiveSystem(machine: Machine): void {
  const { files, devices, live, locks, frozen } = machine;
  for (const folder of inMemory) {
    rmSync(join(files.root, folder), { recursive: true, force: true });
  }
  writeLiveSystem(files.root, live);
  devices.mounts.splice(0, devices.mounts.length, ...liveMounts);
  devices.swaps.splice(0);
  locks.clear();
  frozen.clear();
  restartUnits(machine);
  machine.hostname = live.hostname;
  machine.reboot = undefined;
  machine.running = undefined;
}
