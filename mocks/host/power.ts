import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { liveMounts, restartUnits, writeLiveSystem } from './live-system.ts';
import type { Machine } from './machine.ts';

/** Where a live system keeps what it loses with its power; it has no disk of its own. */
const inMemory = ['opt', 'run', 'tmp', 'var', 'etc', 'root', 'home', 'usr', 'mnt', '.covered'];

/** Starts the live system of a machine again: what was in memory is gone, the disks are as they were. */
export async function restartLiveSystem(machine: Machine): Promise<void> {
  const { files, devices, live, locks } = machine;
  for (const folder of inMemory) {
    await rm(join(files.root, folder), { recursive: true, force: true });
  }
  writeLiveSystem(files.root, live);
  devices.mounts.splice(0, devices.mounts.length, ...liveMounts);
  devices.swaps.splice(0);
  locks.clear();
  restartUnits(machine);
  machine.hostname = live.hostname;
  machine.reboot = undefined;
  machine.running = undefined;
}
