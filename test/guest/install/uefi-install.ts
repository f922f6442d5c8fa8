import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createBlankDisk, createFolderDisk } from '../rig/disks.ts';
import type { Job } from '../rig/live-guest.ts';
import { bootInstalled, type DiskBoot } from './first-boot.ts';
import { type JobAccount, readJob } from './job-log.ts';
import type { LayeredImages } from './layered-images.ts';
import { startLiveInstall } from './live-install.ts';
import { moveNode, takeNodeBack } from './node-commands.ts';
import { reportsTo, startOutside } from './outside.ts';
import { deadlineSeconds, type PreparedGuests, targetMiB } from './prepare.ts';
import { keyfilesOn } from '../rig/os-disk.ts';

/** how the install by UEFI went. */
export interface UefiInstall {
  readonly job: JobAccount;
  /** As `keyfilesOn` has them. */
  readonly keyfiles: string;
  /** The partition table in the end, as sfdisk prints it. */
  readonly table: string;
  /** SHA-256 of the file on the kept partition, after three boots. */
  readonly keptDigest: string;
  readonly reportsOfWrongDigest: readonly string[];
  readonly reports: readonly string[];
  /**
   * The first boot, of the image that the cluster wants; then the node is moved to the second one.
   */
  readonly boot: DiskBoot;
  /** The bytes that guests had pulled of the image until then, and of the second one. */
  readonly pulled: readonly number[];
  /** The boot of the second image; then the node is taken back. */
  readonly moved: DiskBoot;
  readonly back: DiskBoot;
  /** Secrets that must stand nowhere. */
  readonly tokens: readonly string[];
  /** The whole output of the live guest. */
  readonly said: string;
}

/** A partition that the host has from before, with a number that the image has too. */
const kept = { number: 3, startMiB: targetMiB, sizeMiB: 64 };

const images = '/run/images';
const network = '/run/network';
const hook = '/run/hook';

/** Prints its variables and the partitions on the disk. */
const hookText = '#!/bin/sh\\nenv\\nlsblk --noheadings --output PARTLABEL "$INSTALL_DISK"\\n';

/**
 * UEFI, the image as a file on a disk. First an agent with a wrong digest of the Ignition, then a
 * correct one, whose boot entry the firmware keeps. The cluster wants another operating system than
 * that of the image, and a kernel argument: both are there before the first boot of the disk. The
 * installed node is then moved to a second image, and back.
 */
export async function installByUefi(
  stage: PreparedGuests,
  osImages: LayeredImages,
): Promise<UefiInstall> {
  const { folder, agentDisk, image } = stage;
  const target = join(folder, 'uefi-target.raw');
  const imageDisk = join(folder, 'images.raw');
  createBlankDisk(target, targetMiB + kept.sizeMiB);
  await createFolderDisk(imageDisk, dirname(image.path));
  await using wrong = await startOutside('uefi-wrong');
  await using right = await startOutside('uefi-0', {
    osImageURL: osImages.final.image,
    kernelArguments: ['lab.final=yes'],
  });
  const settings = {
    'image.file': `${images}/labcoreos.raw.zst`,
    // Beside --boot-device: one disk must be both.
    'disk.hints': 'serialNumber=TARGET,vendor=0x1af4',
    'network.keyfiles': network,
    'disk.keep': String(kept.number),
    'hooks.before': hook,
    'hooks.after': hook,
    // So that the agent's end and the order that it gave can be seen before the guest goes, which
    // never happens: its power is cut.
    'finish.rebootDelayMinutes': '60',
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
      `set -- ${kept.number} ${kept.startMiB} ${kept.sizeMiB}`,
      readFileSync(new URL('kept-data.sh', import.meta.url), 'utf8'),
      `mkdir ${images}; mount -o ro /dev/disk/by-id/virtio-images ${images}`,
      `mkdir ${network}; install -m 600 /dev/stdin ${network}/eth0.nmconnection <<< $'[connection]\\nid=eth0\\ntype=ethernet'`,
      `printf '${hookText}' | install -m 755 /dev/stdin ${hook}`,
      osImages.before,
    ].join('\n'),
    runs: [
      { outside: wrong, settings: { ...settings, 'ignition.sha256': '0'.repeat(64) } },
      { outside: right, settings, words: ['--enable-skip-mco-reboot'] },
    ],
  } as const;
  const { job, said } = await (async () => {
    await using guest = await startLiveInstall(install, folder, 'uefi-live');
    // The scheduled reboot is not awaited: the power is cut, and the data of the agent is on the
    // disk.
    await guest.job.waitForLine(/^ALL-SAID$/, deadlineSeconds);
    return { job: readJob(guest.job.text()), said: guest.job.text() + guest.console.text() };
  })();
  const keyfiles = await keyfilesOn(target);
  const start = (name: string, node?: Job): Promise<DiskBoot> =>
    bootInstalled(
      {
        firmware: 'uefi',
        variables,
        target,
        ...(node === undefined ? {} : { job: node, agentDisk }),
      },
      right,
      { folder, name, deadlineSeconds },
    );
  const boot = await start('uefi-disk', moveNode(osImages));
  const pulled = [osImages.final.pulled(), osImages.second.pulled()];
  const moved = await start('uefi-moved', takeNodeBack(osImages));
  const back = await start('uefi-back');
  const dataPlace = `${target}?offset=${kept.startMiB * 1024 ** 2}`;
  const data = execFileSync('debugfs', ['-R', 'cat /data', dataPlace], {
    maxBuffer: kept.sizeMiB * 1024 ** 2,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return {
    job,
    table: execFileSync('sfdisk', ['--json', target], { encoding: 'utf8' }),
    keptDigest: createHash('sha256').update(data).digest('hex'),
    keyfiles,
    reportsOfWrongDigest: reportsTo(wrong.inventory),
    reports: reportsTo(right.inventory),
    boot,
    pulled,
    moved,
    back,
    tokens: [wrong.token, right.token],
    said,
  };
}
