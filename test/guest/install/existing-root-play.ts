import { join } from 'node:path';

import { prepareHostDisk, startDiskHost } from './disk-host.ts';
import type { ServedOs } from './final-os.ts';
import { bootInstalled, type FirstBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
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
  stage: PlayStage,
  finalOs: ServedOs,
): Promise<ExistingRootPlay> {
  const { folder, agentDisk, image } = stage;
  const target = join(folder, 'existing-target.raw');
  await prepareHostDisk(target, image.path);
  await using outside = await startOutside('existing-0');
  const settings = { 'finish.rebootDelayMinutes': '0' };
  const words = ['--coreos-image', finalOs.image];
  // Kernel arguments are changed by rpm-ostree, which Debian does not have.
  const run = { outside, settings, words, installerArgs: [] };
  const host = { target, agentDisk, before: finalOs.before, run };
  const job = await (async () => {
    await using guest = await startDiskHost(host, folder, 'existing-host');
    await guest.ended(deadlineSeconds);
    return readJob(guest.job.text());
  })();
  const place = { folder, name: 'existing-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, place);
  return { job, reports: reportsTo(outside.inventory), boot };
}
