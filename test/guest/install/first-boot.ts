import { startGuest } from '../rig/guest.ts';
import { createJobDisk, type Job } from '../rig/live-guest.ts';
import type { GuestDisk, GuestShape } from '../rig/qemu-argv.ts';
import type { Outside } from './outside.ts';

/** The output of a guest that was started from its installed disk. */
export interface DiskBoot {
  /** Of firmware, boot loader and kernel. */
  readonly console: string;
  /** Of the unit that Ignition brought, of Lab CoreOS, and of the job if there was one. */
  readonly report: string;
  /** Paths that were requested from the Machine Config Server until then. */
  readonly asked: readonly string[];
  /** The time from its start to its report. */
  readonly seconds: number;
}

/** A machine that was installed. */
interface InstalledMachine extends Pick<GuestShape, 'firmware' | 'variables'> {
  readonly target: string;
  /** The job that it runs after its report; it then ends by itself. */
  readonly job?: Job;
  /** The disk that createAgentDisk made, for a job with an agent. */
  readonly agentDisk?: string;
}

/** Where a guest leaves its logs, and how long it may take. */
interface BootPlace {
  /** Ends the guest early. */
  readonly signal?: AbortSignal;
  readonly folder: string;
  readonly name: string;
  readonly deadlineSeconds: number;
}

/**
 * Starts the installed disk and waits for the report of the system, or until its job has ended it.
 * Without a job its power is then cut.
 */
export async function bootInstalled(
  machine: InstalledMachine,
  { machineConfigServer }: Pick<Outside, 'machineConfigServer'>,
  { folder, name, deadlineSeconds, signal }: BootPlace,
): Promise<DiskBoot> {
  const { target, job, agentDisk, ...shape } = machine;
  const disks: GuestDisk[] = [{ path: target, serial: 'target', writes: 'kept' }];
  if (agentDisk !== undefined)
    disks.push({ path: agentDisk, serial: 'agent', writes: 'read-only' });
  if (job !== undefined) disks.push(await createJobDisk(job, folder, name));
  const startedAt = performance.now();
  await using guest = startGuest({ ...shape, disks }, folder, name);
  signal?.addEventListener('abort', () => void guest.powerCut());
  await guest.job.waitForLine(/^LABCOREOS-REPORT-END$/, deadlineSeconds);
  const seconds = (performance.now() - startedAt) / 1000;
  if (job !== undefined) await guest.ended(deadlineSeconds);
  return {
    seconds,
    console: guest.console.text(),
    report: guest.job.text(),
    asked: machineConfigServer.requests.map(({ path }) => path),
  };
}
