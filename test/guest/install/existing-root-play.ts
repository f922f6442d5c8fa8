import { startDiskHost } from './disk-host.ts';
import type { ServedOs } from './final-os.ts';
import { bootInstalled, type FirstBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
import { tellStatus } from './node-play.ts';
import { reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PlayStage } from './stage.ts';

/** How the play of the existing root went. */
export interface ExistingRootPlay {
  readonly job: JobAccount;
  readonly reports: readonly string[];
  readonly boot: FirstBoot;
}

/**
 * BIOS. The host runs from a disk with Lab CoreOS, and the agent installs into that: a container
 * image becomes a second system beside the running one, with a stateroot and a first boot of its own.
 */
export async function playExistingRoot(
  target: string,
  { folder, agentDisk }: PlayStage,
  finalOs: ServedOs,
): Promise<ExistingRootPlay> {
  await using outside = await startOutside('existing-0');
  const settings = { 'finish.rebootDelayMinutes': '0' };
  const words = ['--coreos-image', finalOs.image];
  // Kernel arguments are changed by rpm-ostree, which Debian does not have.
  const run = { outside, settings, words, installerArgs: [] };
  const before = [finalOs.before, tellStatus].join('\n');
  const host = { target, agentDisk, before, run };
  const job = await (async () => {
    await using guest = await startDiskHost(host, folder, 'existing-host');
    await guest.ended(deadlineSeconds);
    return readJob(guest.job.text());
  })();
  const place = { folder, name: 'existing-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, place);
  return { job, reports: reportsTo(outside.inventory), boot };
}
