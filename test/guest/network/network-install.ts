// Virtual machines that install themselves with the files of `deploy`, and no service.
import { join } from 'node:path';
import { bootInstalled, type DiskBoot } from '../install/first-boot.ts';
import { deadlineSeconds, targetMiB } from '../install/prepare.ts';
import { createBlankDisk } from '../rig/disks.ts';
import type { RunEvent } from '../../../src/engine/events.ts';
import { eventsIn } from '../install/job-log.ts';
import { type Guest, startGuest } from '../rig/guest.ts';
import type { HostForward } from '../rig/qemu-argv.ts';
import { GuestError } from '../rig/serial-log.ts';
import { example, type NetworkSite } from './network-site.ts';

/**
 * How a machine is started: by iPXE with BIOS and by GRUB with UEFI, from the network, or by BIOS
 * from a medium.
 */
const ways = {
  ipxe: { firmware: 'bios', file: 'start.ipxe' },
  grub: { firmware: 'uefi', file: 'grubx64.efi' },
  medium: { firmware: 'bios', file: undefined },
} as const;

/** Who watches an installation. */
export interface Watching {
  /** Called once the machine is on; its result is called at the end of the live system. */
  readonly onLive?: (guest: Guest) => () => void;
  readonly signal?: AbortSignal;
  /** The medium from which the machine starts in place of the network. */
  readonly medium?: string;
  /** Ports of the machine that this one reaches. */
  readonly hostForwards?: readonly HostForward[];
  /** Cuts the power when the agent emits a line like this, and does not wait for its reboot. */
  readonly until?: RegExp;
}

/** The end of a machine: its disk and the events of its agent. */
export interface NetworkInstall {
  /** The disk that it has written. */
  readonly target: string;
  /**
   * Firmware, kernel, Ignition, and the journal of the live system where it is sent to the console.
   */
  readonly console: string;
  /** The events of the agent: the live system sends it to the second serial port. */
  readonly events: readonly RunEvent[];
}

/**
 * Starts a machine with an empty disk, until the agent reboots it unless something else is wanted.
 * @throws GuestError when its agent fails, and when it ends early or too late
 */
export async function installFromNetwork(
  site: NetworkSite,
  way: keyof typeof ways,
  { onLive, signal, until, medium, hostForwards = [] }: Watching = {},
): Promise<NetworkInstall> {
  const { folder, web, imageDisk, tftpFolder } = site;
  const { firmware, file } = ways[way];
  const target = join(folder, `${way}-target.raw`);
  createBlankDisk(target, targetMiB);
  const hostPort = Number(new URL(web.url).port);
  await using guest = startGuest(
    {
      firmware,
      subnet: example.subnet,
      ...(file === undefined ? {} : { networkBoot: { folder: tftpFolder, file } }),
      guestForwards: [{ guestAddress: example.webServer, guestPort: 80, hostPort }],
      hostForwards,
      disks: [
        ...(medium === undefined
          ? []
          : [{ path: medium, serial: 'medium', writes: 'read-only' } as const]),
        { path: imageDisk, serial: 'images', writes: 'read-only' },
        { path: target, serial: 'target', writes: 'kept', wwn: example.wwn },
      ],
    },
    folder,
    `${way}-live`,
  );
  signal?.addEventListener('abort', () => void guest.powerCut());
  const endWatching = onLive?.(guest);
  try {
    if (until === undefined) await agentEnds(guest, deadlineSeconds);
    else await guest.job.waitForLine(until, deadlineSeconds);
  } finally {
    endWatching?.();
  }
  return { target, console: guest.console.text(), events: eventsIn(guest.job.text()) };
}

/** The first start of a worker from the disk that was written so. */
export function bootWorker(
  { folder, machineConfigServer }: NetworkSite,
  { target }: NetworkInstall,
  { signal }: Watching = {},
): Promise<DiskBoot> {
  const place = { folder, name: 'network-disk', deadlineSeconds };
  return bootInstalled(
    { firmware: 'bios', target },
    { machineConfigServer },
    { ...place, ...(signal === undefined ? {} : { signal }) },
  );
}

/**
 * The last line of an agent that has failed, as the journal of a live system sends it to the
 * console.
 */
const lastOfFailure = / bootwright\[\d+\]: logs: /;

/**
 * Waits until a live guest has ended, as its agent reboots it.
 * @throws GuestError when the agent or the start of the system has failed, and the guest stays on;
 * when it is late
 */
async function agentEnds(
  { console, ended }: Pick<Guest, 'console' | 'ended'>,
  deadlineSeconds: number,
): Promise<void> {
  const failed = console.waitForLine(lastOfFailure, deadlineSeconds).then(
    () => {
      throw new GuestError('the agent has failed: its last lines say why, and what to do');
    },
    // An ended guest prints no further lines.
    (error: unknown) =>
      ended(1).catch(() => {
        throw error;
      }),
  );
  await Promise.race([ended(deadlineSeconds), failed]);
}
