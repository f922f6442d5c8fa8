import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { createBlankDisk, createFolderDisk } from '../rig/disks.ts';
import type { ServedOs } from './final-os.ts';
import { bootInstalled, type FirstBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
import { startLiveInstall } from './live-install.ts';
import { reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PlayStage, targetMiB } from './stage.ts';

/** How the play by UEFI went. */
export interface UefiPlay {
  readonly job: JobAccount;
  readonly reportsOfWrongDigest: readonly string[];
  readonly reports: readonly string[];
  readonly boot: FirstBoot;
  /** Secrets that must stand nowhere. */
  readonly tokens: readonly string[];
  /** Everything that the live guest said. */
  readonly said: string;
}

const images = '/run/images';

/**
 * UEFI, the image as a file on a disk. First an agent that was told another digest of the Ignition
 * than it gets, then one as it should be; the firmware keeps what that one told it. The cluster
 * wants another operating system than that of the image, and a kernel argument: both are there
 * before the disk is booted for the first time.
 */
export async function playUefi(stage: PlayStage, finalOs: ServedOs): Promise<UefiPlay> {
  const { folder, agentDisk, image } = stage;
  const target = join(folder, 'uefi-target.raw');
  const imageDisk = join(folder, 'images.raw');
  createBlankDisk(target, targetMiB);
  await createFolderDisk(imageDisk, dirname(image.path));
  await using wrong = await startOutside('uefi-wrong');
  await using right = await startOutside('uefi-0', {
    osImageURL: finalOs.image,
    kernelArguments: ['lab.final=yes'],
  });
  const settings = {
    'image.file': `${images}/labcoreos.raw.zst`,
    // So that the agent's end and the order that it gave can be seen before the guest goes.
    'finish.rebootDelayMinutes': '1',
  };
  const variables = join(folder, 'uefi-variables.fd');
  const install = {
    firmware: 'uefi',
    variables,
    target,
    agentDisk,
    moreDisks: [{ path: imageDisk, serial: 'images', writes: 'read-only' }],
    before: [
      readFileSync(new URL('live-checks.sh', import.meta.url), 'utf8'),
      `mkdir ${images}; mount -o ro /dev/disk/by-id/virtio-images ${images}`,
      finalOs.before,
    ].join('\n'),
    runs: [
      { outside: wrong, settings: { ...settings, 'ignition.sha256': '0'.repeat(64) } },
      { outside: right, settings, words: ['--enable-skip-mco-reboot'] },
    ],
  } as const;
  const { job, said } = await (async () => {
    await using guest = await startLiveInstall(install, folder, 'uefi-live');
    await guest.job.waitForLine(/^ALL-SAID$/, deadlineSeconds);
    await guest.ended(deadlineSeconds);
    return { job: readJob(guest.job.text()), said: guest.job.text() + guest.console.text() };
  })();
  const place = { folder, name: 'uefi-disk', deadlineSeconds };
  const boot = await bootInstalled({ firmware: 'uefi', variables, target }, right, place);
  return {
    job,
    reportsOfWrongDigest: reportsTo(wrong.inventory),
    reports: reportsTo(right.inventory),
    boot,
    tokens: [wrong.token, right.token],
    said,
  };
}
