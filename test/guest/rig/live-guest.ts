import { copyFileSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { liveRoot } from '../../../scripts/parts/scripted.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { createFolderDisk } from './disks.ts';
import { type Guest, startGuest } from './guest.ts';
import type { GuestDisk, GuestShape } from './qemu-argv.ts';

/** The work of a guest once its network is up. */
export interface Job {
  /**
   * Bash. The guest stays on when it is done, unless it runs `systemctl poweroff` or `reboot`
   * itself.
   */
  readonly script: string;
  /** Files beside the script in /job, by name; the values are paths on this machine. */
  readonly files?: Readonly<Record<string, string>>;
  /** Texts beside the script in /job, by name. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** A live system with a job. */
interface LiveShape extends Job, Omit<GuestShape, 'boot' | 'disks' | 'firmware'> {
  readonly firmware?: GuestShape['firmware'];
  /**
   * Disks besides those of the live system and of the job; the serial `agent` is what run-agent
   * starts from.
   */
  readonly disks: readonly GuestDisk[];
}

/**
 * As in the disk's grub.cfg, without options that cost an emulated processor time for nothing. A
 * kernel panic ends the guest at once, and with it all waits for the guest. Devices and the timer
 * may be slow on a busy machine: a kernel that checks the timer panics at a load of 20. systemd
 * shows only failed units: otherwise it draws its waits three times a second.
 */
export const emulated = [
  'audit=0 lsm=capability mitigations=off init_on_alloc=0 no_timer_check panic=-1',
  'systemd.default_device_timeout_sec=900 systemd.show_status=error',
].join(' ');

/** Starts a live guest in a folder of the test; needs the parts qemu and live-root. */
export async function startLiveGuest(
  live: LiveShape,
  folder: string,
  name: string,
): Promise<Guest> {
  const parts = partFolder(liveRoot);
  const own: GuestDisk[] = [
    { path: join(parts, 'live.raw'), serial: 'live', writes: 'throwaway' },
    await createJobDisk(live, folder, name),
  ];
  const boot = {
    kernel: join(parts, 'vmlinuz'),
    initrd: join(parts, 'initrd.img'),
    commandLine: `root=/dev/vda rw net.ifnames=0 console=ttyS0,115200n8 ${emulated}`,
  };
  const { firmware = 'bios', disks, ...rest } = live;
  return startGuest({ ...rest, firmware, boot, disks: [...own, ...disks] }, folder, name);
}

/** Makes the disk that `live-job` of a guest takes its job from. */
export async function createJobDisk(job: Job, folder: string, name: string): Promise<GuestDisk> {
  const path = join(folder, `${name}-job.raw`);
  await createFolderDisk(path, writeJob(job, join(folder, `${name}-job`)));
  return { path, serial: 'job', writes: 'read-only' };
}

/**
 * Waits for the end of the job and returns its exit code.
 *
 * @throws GuestError when the guest ends or the deadline passes before.
 */
export async function jobResult(guest: Guest, deadlineSeconds: number): Promise<number> {
  const line = await guest.job.waitForLine(/^LIVE-JOB-RC=\d+$/, deadlineSeconds);
  return Number(line.split('=')[1]);
}

function writeJob(job: Job, folder: string): string {
  mkdirSync(folder);
  // The system waits for the job's own disk alone: udev may not have named the others yet.
  writeFileSync(join(folder, 'run.sh'), `udevadm settle --timeout=900\n${job.script}`);
  for (const [name, text] of Object.entries(job.texts ?? {}))
    writeFileSync(join(folder, name), text);
  for (const [name, path] of Object.entries(job.files ?? {})) linkOrCopy(path, join(folder, name));
  return folder;
}

/** A disk image need not be copied twice on its way into the job disk. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
