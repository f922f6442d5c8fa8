// What an installed disk holds when a machine starts from it for the first time.
import { readFile } from 'node:fs/promises';
import { finalStateroot } from '../../src/steps/image/origins.ts';
import type { Machine } from './machine.ts';
import { placeInPartition } from './partition-files.ts';

/** What is on a disk that was never started. */
export interface DiskSystem {
  /** The image that the disk follows; undefined for the system as the writer brought it. */
  readonly image: string | undefined;
  readonly kernelArguments: readonly string[];
}

/** The operating system on the disk of a machine. */
export function systemOnDisk({ deployments }: Machine): DiskSystem {
  const deployment = deployments.get(finalStateroot);
  return {
    image: deployment?.origin,
    kernelArguments: deployment?.kernelArguments ?? [],
  };
}

/** The Ignition on the boot partition, whoever wrote it there last. */
export async function ignitionOnDisk(machine: Machine): Promise<string> {
  const { devices, installed } = machine;
  if (installed === undefined) return '';
  const disk = devices.byKname(installed.disk);
  const boot = disk && devices.childrenOf(disk).find(({ entry }) => entry?.label === 'boot');
  const place = boot && placeInPartition(machine, boot.kname, 'ignition/config.ign');
  return place === undefined
    ? installed.ignition
    : readFile(place, 'utf8').catch(() => installed.ignition);
}
