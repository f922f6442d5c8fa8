import { startGuest } from '../rig/guest.ts';
import type { GuestShape } from '../rig/qemu-argv.ts';
import type { Outside } from './outside.ts';

/** What a guest said that was started from the disk it was installed to. */
export interface FirstBoot {
  /** Of firmware, boot loader and kernel. */
  readonly console: string;
  /** Of the unit that Ignition brought, and of Lab CoreOS. */
  readonly report: string;
  /** Paths that the Machine Config Server was asked for. */
  readonly asked: readonly string[];
}

/** Where a guest leaves its logs, and how long it may take. */
export interface BootPlace {
  /** Ends the guest early. */
  readonly signal?: AbortSignal;
  readonly folder: string;
  readonly name: string;
  readonly deadlineSeconds: number;
}

/** Starts the installed disk for the first time and waits until the system has said what it is. */
export async function bootInstalled(
  machine: Pick<GuestShape, 'firmware' | 'variables'> & { readonly target: string },
  { machineConfigServer }: Outside,
  { folder, name, deadlineSeconds, signal }: BootPlace,
): Promise<FirstBoot> {
  const { target, ...shape } = machine;
  const disks = [{ path: target, serial: 'target', writes: 'kept' }] as const;
  await using guest = startGuest({ ...shape, disks }, folder, name);
  signal?.addEventListener('abort', () => void guest.powerCut());
  await guest.job.waitForLine(/^LABCOREOS-REPORT-END$/, deadlineSeconds);
  return {
    console: guest.console.text(),
    report: guest.job.text(),
    asked: machineConfigServer.requests.map(({ path }) => path),
  };
}
