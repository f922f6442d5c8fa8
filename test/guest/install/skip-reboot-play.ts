import { dirname, join } from 'node:path';

import { createBlankDisk, createFolderDisk } from '../rig/disks.ts';
import type { ServedOs } from './final-os.ts';
import { bootInstalled, type FirstBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
import { startLiveInstall } from './live-install.ts';
import { reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PlayStage, targetMiB } from './stage.ts';

/** How a play in which ostree deploys went. */
export interface OstreePlay {
  readonly job: JobAccount;
  readonly reports: readonly string[];
  readonly boot: FirstBoot;
}

const images = '/run/images';

/**
 * BIOS, the image as a file on a disk. The cluster wants another operating system than that of the
 * image, and a kernel argument: both are there before the disk is booted for the first time.
 */
export async function playSkipReboot(stage: PlayStage, finalOs: ServedOs): Promise<OstreePlay> {
  const { folder, agentDisk, image } = stage;
  const target = join(folder, 'skip-target.raw');
  const imageDisk = join(folder, 'skip-images.raw');
  createBlankDisk(target, targetMiB);
  await createFolderDisk(imageDisk, dirname(image.path));
  await using outside = await startOutside('skip-0', {
    osImageURL: finalOs.image,
    kernelArguments: ['lab.final=yes'],
  });
  const settings = {
    'image.file': `${images}/labcoreos.raw.zst`,
    'finish.rebootDelayMinutes': '0',
  };
  const install = {
    firmware: 'bios',
    target,
    agentDisk,
    moreDisks: [{ path: imageDisk, serial: 'images', writes: 'read-only' }],
    before: `mkdir ${images}; mount -o ro /dev/disk/by-id/virtio-images ${images}\n${finalOs.before}`,
    runs: [{ outside, settings, words: ['--enable-skip-mco-reboot'] }],
  } as const;
  const job = await (async () => {
    await using guest = await startLiveInstall(install, folder, 'skip-live');
    await guest.ended(deadlineSeconds);
    return readJob(guest.job.text());
  })();
  const place = { folder, name: 'skip-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'bios', target }, outside, place);
  return { job, reports: reportsTo(outside.inventory), boot };
}
