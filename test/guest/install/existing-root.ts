import type { Job } from '../rig/live-guest.ts';
import { bootInstalled, type DiskBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
import type { LayeredImages } from './layered-images.ts';
import { jobOf } from './live-install.ts';
import { reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PreparedGuests } from './prepare.ts';

/** A host that runs from its disk. */
export interface RunningHost {
  readonly target: string;
  /** Starts it with a job. */
  readonly start: (job: Job) => Promise<DiskBoot>;
}

/** how the install of the existing root went. */
export interface ExistingRootInstall {
  /** The boot of the host that the agent ran on. */
  readonly host: DiskBoot;
  readonly job: JobAccount;
  readonly reports: readonly string[];
  readonly boot: DiskBoot;
}

/**
 * BIOS. The host runs from a disk with Lab CoreOS, and the agent installs into that: a container
 * image becomes a second system beside the running one, with a stateroot and a first boot of its own.
 */
export async function installIntoExistingRoot(
  { folder }: PreparedGuests,
  { other, before }: LayeredImages,
  { target, start }: RunningHost,
): Promise<ExistingRootInstall> {
  await using outside = await startOutside('existing-0');
  const settings = { 'finish.rebootDelayMinutes': '0' };
  const words = ['--coreos-image', other.image];
  // Kernel arguments are changed by rpm-ostree, which Debian does not have.
  const host = await start(jobOf([{ outside, settings, words, installerArgs: [] }], before));
  const place = { folder, name: 'existing-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, place);
  return { host, job: readJob(host.report), reports: reportsTo(outside.inventory), boot };
}
