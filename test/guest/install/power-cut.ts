import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBlankDisk } from '../rig/disks.ts';
import { startGuest } from '../rig/guest.ts';
import { bootInstalled, type DiskBoot } from './first-boot.ts';
import type { FinalOs } from './ignition.ts';
import { serveImage } from './image-server.ts';
import { type JobAccount, readJob } from './job-log.ts';
import type { LayeredImages } from './layered-images.ts';
import { type LiveInstall, startLiveInstall } from './live-install.ts';
import { gateway, type Outside, reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PreparedGuests, targetMiB } from './prepare.ts';

/** how the install of the power cut went. */
export interface PowerCutInstall {
  readonly first: JobAccount;
  readonly cutDisk: DiskHead;
  /** The console output of UEFI for the disk after the power cut. */
  readonly cutDiskConsole: string;
  readonly second: JobAccount;
  /** Of both runs, as the service saw them. */
  readonly reports: readonly string[];
  /** Where requests for the image began, in bytes. */
  readonly imageBegins: readonly number[];
  readonly boot: DiskBoot;
}

/**
 * BIOS, the image by http with its digest, a disk with leftovers. The power is cut in the middle of
 * the write. The same command again: now the mirror cuts a connection, the service is gone from
 * half of the write on, and the registry of the operating system that the cluster wants dies in the
 * middle of the pull.
 */
export async function installWithPowerCut(
  stage: PreparedGuests,
  built: Promise<LayeredImages>,
): Promise<PowerCutInstall> {
  const { folder, image, agentDisk } = stage;
  const target = join(folder, 'bios-target.raw');
  createBlankDisk(target, targetMiB);
  const pool: { wants?: FinalOs } = {};
  await using outside = await startOutside('bios-0', () => pool.wants);
  await using images = await serveImage(image.path, [
    { atShare: 0.5, how: 'hold' },
    { atShare: 0.3, how: 'cut' },
  ]);
  const settings = {
    'image.url': `http://${gateway}:${images.port}${images.path}`,
    'image.sha256': image.sha256,
    'finish.rebootDelayMinutes': '0',
  };
  const install = { firmware: 'bios', target, agentDisk, runs: [{ outside, settings }] } as const;
  const first = await cutPower(install, folder);
  const cutDisk = readDiskHead(target);
  const cutDiskConsole = await startCutDisk(target, folder);
  const { failing, before } = await built;
  pool.wants = { osImageURL: failing.dying, kernelArguments: ['lab.final=yes'] };
  const [run] = install.runs;
  const wantingOs = { ...run, words: ['--enable-skip-mco-reboot'] };
  const second = await losingService({ ...install, before, runs: [wantingOs] }, folder, outside);
  const place = { folder, name: 'bios-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, place);
  const reports = reportsTo(outside.inventory);
  return { first, cutDisk, cutDiskConsole, second, reports, imageBegins: images.begins, boot };
}

async function cutPower(install: LiveInstall, folder: string): Promise<JobAccount> {
  const before = readFileSync(new URL('leftovers.sh', import.meta.url), 'utf8');
  await using guest = await startLiveInstall({ ...install, before }, folder, 'bios-first');
  await guest.job.waitForLine(/"step":"image\/write".*"percent":[1-4]\d/, deadlineSeconds);
  await waitUntilWritten(install.target, 64);
  await guest.powerCut();
  return readJob(guest.job.text());
}

/** By UEFI, which prints what it finds on the console; a BIOS does not. */
async function startCutDisk(target: string, folder: string): Promise<string> {
  const disks = [{ path: target, serial: 'target', writes: 'throwaway' }] as const;
  await using guest = startGuest({ firmware: 'uefi', disks }, folder, 'cut-disk');
  await guest.console.waitForLine(
    /^(Shell>|UEFI Interactive Shell|Welcome to GRUB)/,
    deadlineSeconds,
  );
  return guest.console.text();
}

async function losingService(
  install: LiveInstall,
  folder: string,
  { inventory }: Outside,
): Promise<JobAccount> {
  await using guest = await startLiveInstall(install, folder, 'bios-second');
  await guest.job.waitForLine(/"step":"image\/write".*"percent":[5-9]\d/, deadlineSeconds);
  await inventory.close();
  await guest.ended(deadlineSeconds);
  return readJob(guest.job.text());
}

const mebibyte = 1024 * 1024;
const pollEveryMillis = 200;

/** The beginning of a guest's disk, as a BIOS and the kernel read it. */
interface DiskHead {
  /** Whether there is code that a BIOS would start. */
  readonly hasBootCode: boolean;
  /** Partitions in the first table of the GPT. */
  readonly partitions: number;
}

/** Reads the beginning of a disk with sectors of 512 bytes, from outside of the guest. */
function readDiskHead(path: string): DiskHead {
  const head = Buffer.alloc(mebibyte);
  const descriptor = openSync(path, 'r');
  readSync(descriptor, head, 0, head.length, 0);
  closeSync(descriptor);
  const entries = Array.from({ length: 128 }, (_, index) =>
    head.subarray(1024 + index * 128, 1024 + (index + 1) * 128),
  );
  return {
    hasBootCode: head.subarray(0, 440).some((byte) => byte !== 0),
    partitions: entries.filter((entry) => entry.subarray(0, 16).some((byte) => byte !== 0)).length,
  };
}

/** Waits until a guest has written so much to its sparse disk. */
async function waitUntilWritten(path: string, mebibytes: number): Promise<void> {
  while (statSync(path).blocks * 512 < mebibytes * mebibyte) await sleep(pollEveryMillis);
}
