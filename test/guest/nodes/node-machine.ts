import { startGuest } from '../rig/guest.ts';
import type { Guest } from '../rig/guest.ts';
import { createJobDisk, type Job } from '../rig/live-guest.ts';
import type { GuestDisk } from '../rig/qemu-argv.ts';
import { deadlineSeconds } from '../install/prepare.ts';

/** Gets the events of a machine that its kubelet would report to the cluster. */
export interface Kubelet {
  /** The system of the machine is up, or gone. */
  readonly isReady: (name: string, isReady: boolean) => Promise<void>;
}

/** The properties of a machine whose system runs the agent of its node. */
export interface NodeShape {
  readonly name: string;
  /** A disk of createNodeDisks. */
  readonly disk: string;
  readonly agentDisk: string;
  /** Runs at each start. */
  readonly job: Job;
}

/** A machine that is started again after each reboot and each loss of its power. */
export interface NodeMachine extends AsyncDisposable {
  /** The output of the second serial port, for each start of the machine. */
  readonly said: () => readonly string[];
  /** Waits until the latest start prints such a line. */
  readonly waitForLine: (pattern: RegExp) => Promise<string>;
  /** Pulls the plug; the machine starts again at once. */
  readonly powerCut: () => Promise<void>;
}

/** Where the logs of a machine go, and what becomes of its failure. */
interface MachinePlace {
  readonly folder: string;
  readonly kubelet: Kubelet;
  /** The machine took too long, or QEMU failed. */
  readonly failed: (reason: unknown) => void;
}

/** Switches a machine on. It is ready once its system has printed its report. */
export async function startNodeMachine(
  { name, disk, agentDisk, job }: NodeShape,
  { folder, kubelet, failed }: MachinePlace,
): Promise<NodeMachine> {
  const disks: readonly GuestDisk[] = [
    { path: disk, serial: 'target', writes: 'kept' },
    { path: agentDisk, serial: 'agent', writes: 'read-only' },
    await createJobDisk(job, folder, name),
  ];
  const guests: Guest[] = [];
  let latest: Guest;
  let isOff = false;
  let wasCut = false;
  const begin = (): Guest => {
    const shape = { firmware: 'bios', memoryMiB: 1024, disks } as const;
    latest = startGuest(shape, folder, `${name}-${guests.length + 1}`);
    guests.push(latest);
    return latest;
  };
  const runOnce = async (guest: Guest): Promise<void> => {
    try {
      await guest.job.waitForLine(/^LABCOREOS-REPORT-END$/, deadlineSeconds);
      await kubelet.isReady(name, true);
      await guest.ended(2 * deadlineSeconds);
    } catch (error) {
      if (!isOff && !wasCut) throw error;
      wasCut = false;
    }
  };
  const run = async (): Promise<void> => {
    for (let guest = begin(); ; guest = begin()) {
      await runOnce(guest);
      if (isOff) return;
      await kubelet.isReady(name, false);
    }
  };
  const ended = run().catch((error: unknown) => {
    if (!isOff) failed(error);
  });
  return {
    said: () => guests.map(({ job: port }) => port.text()),
    waitForLine: (pattern) => latest.job.waitForLine(pattern, deadlineSeconds),
    powerCut: () => {
      wasCut = true;
      return latest.powerCut();
    },
    async [Symbol.asyncDispose]() {
      isOff = true;
      await latest.powerCut();
      await ended;
    },
  };
}
