import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';

import { imagesIn, originsArgv } from '../../src/steps/image/deploy-final.ts';
import type { TargetDisk } from '../../src/steps/disk/facts.ts';
import { type LiveHost, udevLabels } from './deploy-image-host.ts';
import { createLoopDisk, type LoopDisk } from './loop-disk.ts';

/** A loop device with the operating system as coreos-installer leaves it, byte for byte. */
export interface WrittenDisk extends Disposable {
  readonly target: TargetDisk;
}

/** The input for a written disk. */
interface DiskOrder {
  /** Image of the operating system, 768 MiB when unpacked: `labcoreos.raw.zst`. */
  readonly image: string;
  readonly path: string;
  readonly sizeMiB: number;
}

/** Writes a disk, with its partitions known to the live system. */
export function writeDisk(live: LiveHost, { image, path, sizeMiB }: DiskOrder): WrittenDisk {
  const disk = createLoopDisk(path, sizeMiB);
  try {
    return { target: fillDisk(live, disk, image), [Symbol.dispose]: () => disk[Symbol.dispose]() };
  } catch (error) {
    disk[Symbol.dispose]();
    throw error;
  }
}

function fillDisk(live: LiveHost, { device, path }: LoopDisk, image: string): TargetDisk {
  const script = 'zstd -q -d -c "$0" | dd bs=1M conv=sparse status=none "$1"';
  execFileSync('sh', ['-c', script, image, `of=${device}`]);
  // A kernel that scans loop devices for partitions has found them.
  execFileSync('partx', ['--update', device]);
  udevLabels(live, device);
  const [majorMinor = '', name = ''] = live
    .ask('lsblk', '-dno', 'MAJ:MIN,KNAME', device)
    .trim()
    .split(/\s+/);
  const sizeBytes = statSync(path).size;
  return {
    path: device,
    asked: device,
    name,
    majorMinor,
    sizeBytes,
    sectorBytes: 512,
    type: 'loop',
    serial: '',
    wwn: '',
    byId: [],
  };
}

/** The next boot of a disk, and the files that it would find. */
export interface NextBoot {
  /** Pull spec that the deployment follows; undefined for the deployment of the disk image. */
  readonly image: string | undefined;
  readonly options: readonly string[];
  /** Files that distinguish the layers of Lab CoreOS. */
  readonly layers: readonly string[];
  /** Every origin on the disk that names an image. */
  readonly origins: readonly string[];
  /** Ignition config of the first boot, or empty. */
  readonly ignition: string;
  readonly hasStamp: boolean;
}

/**
 * Reads a disk as GRUB and ostree do: the entry with the highest version, and the target of its
 * link.
 */
export function readNextBoot(live: LiveHost, { target }: WrittenDisk): NextBoot {
  const { ask } = live;
  ask('mount', `${target.path}p4`, '/mnt');
  ask('mount', `${target.path}p3`, '/mnt/boot');
  try {
    for (const place of ['/mnt', '/mnt/boot']) {
      ask('sh', '-c', `fsfreeze --unfreeze ${place} 2> /dev/null || true`);
    }
    const entries = '/mnt/boot/loader/entries';
    const last = ask('ls', entries).trim().split('\n').sort().at(-1) ?? '';
    const entry = ask('cat', `${entries}/${last}`);
    const options = /^options (.+)$/m.exec(entry)?.[1]?.split(' ') ?? [];
    const root = options.find((word) => word.startsWith('ostree='))?.slice('ostree='.length) ?? '';
    const deployment = ask('readlink', '-f', `/mnt${root}`).trim();
    const ask0 = (script: string): string => ask('sh', '-c', `${script} 2> /dev/null || true`);
    return {
      image: imagesIn(ask('cat', `${deployment}.origin`))[0],
      options: options.filter((word) => !word.startsWith('ostree=')),
      layers: ask0(`ls ${deployment}/usr/share/labcoreos/layers`).split('\n').filter(Boolean),
      origins: imagesIn(ask(...originsArgv('/mnt'))),
      ignition: ask0('cat /mnt/boot/ignition/config.ign'),
      hasStamp: ask0('ls /mnt/boot/ignition.firstboot') !== '',
    };
  } finally {
    ask('umount', '/mnt/boot');
    ask('umount', '/mnt');
  }
}
