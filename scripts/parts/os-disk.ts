import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { addExt4, coreosPartitions, createImage, mebibyte } from './coreos-disk.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { BuildSite, CachedPart } from './part.ts';
import { osImage } from './scripted.ts';

/** Small, because coreos-installer writes all of it; the root file system has room for a second deployment. */
const sizes = { diskMiB: 768, espMiB: 32, bootMiB: 192, sectorBytes: 512 } as const;

/** The places of the partitions. */
export const osDiskShape = coreosPartitions(sizes);

/** Folders and files of one build of the disk; all but the last are thrown away. */
function workFiles(folder: string) {
  const at = (name: string) => join(folder, name);
  return { tree: at('tree'), sysroot: at('sysroot'), boot: at('boot'), image: at('labcoreos.raw') };
}

async function build(site: BuildSite): Promise<void> {
  const { tree, sysroot, boot, image } = workFiles(site.folder);
  await deploy(site);
  renameSync(join(sysroot, 'boot'), boot);
  mkdirSync(join(sysroot, 'boot'));
  await site.log.run({ argv: [osFile('boot-files.sh'), boot, site.folder] });
  await createImage(image, sizes, site.log);
  await addExt4(image, { partition: osDiskShape.boot, content: boot }, site.log);
  await addRoot(site);
  await addEsp(site);
  addBiosGrub(image, join(site.folder, 'core.img'));
  await site.log.run({ argv: ['zstd', '-q', '-3', '-T0', image, '-o', `${image}.zst`] });
  const stages = [join(site.folder, 'core.img'), join(site.folder, 'BOOTX64.EFI')];
  for (const path of [tree, sysroot, boot, image, ...stages]) rmSync(path, { recursive: true });
}

async function deploy(site: BuildSite): Promise<void> {
  const { tree, sysroot } = workFiles(site.folder);
  mkdirSync(sysroot);
  await site.log.run({
    argv: [osFile('unpack.sh'), join(site.input(osRootfs), 'os.tar.zst'), tree],
  });
  const container = join(site.input(ostreeContainer), 'bin', 'ostree-container');
  const folders = {
    '/run/os': osFile('.'),
    '/disk': sysroot,
    '/image': join(site.input(osImage), 'oci'),
    '/usr/libexec/libostree/ext/ostree-container': container,
  };
  const binds = Object.entries(folders).flatMap(([to, from]) => ['--bind', `${from}=${to}`]);
  const deploying = ['/run/os/deploy.sh', '/disk', '/image'];
  await site.log.run({ argv: [osFile('in-root.sh'), tree, ...binds, '--', ...deploying] });
}

async function addRoot(site: BuildSite): Promise<void> {
  const { sysroot, image } = workFiles(site.folder);
  const { startMiB, sizeMiB } = osDiskShape.root;
  const place = [String(startMiB), String(sizeMiB)];
  await site.log.run({ argv: [osFile('xfs-root.sh'), sysroot, image, ...place] });
}

async function addEsp(site: BuildSite): Promise<void> {
  const { image } = workFiles(site.folder);
  const start = osDiskShape.esp.startMiB * mebibyte;
  const { run } = site.log;
  const options = ['-F', '16', '-n', 'EFI-SYSTEM', '--offset', String(start / 512)];
  const kibibytes = String(osDiskShape.esp.sizeMiB * 1024);
  await run({ argv: ['mkfs.vfat', ...options, image, kibibytes] });
  const place = `${image}@@${start}`;
  await run({ argv: ['mmd', '-i', place, '::/EFI', '::/EFI/BOOT', '::/EFI/redhat'] });
  // Where CoreOS has its shim, under whose path a boot entry is made; here GRUB itself lies there.
  for (const loader of ['::/EFI/BOOT/BOOTX64.EFI', '::/EFI/redhat/shimx64.efi'])
    await run({ argv: ['mcopy', '-i', place, join(site.folder, 'BOOTX64.EFI'), loader] });
}

/**
 * Makes an image start by BIOS without grub-install, which cannot map an image file to a drive: GRUB's first
 * sector gets the place of its second stage, and that one the place of its own rest (`boot.S`, `diskboot.S`).
 */
function addBiosGrub(image: string, secondStage: string): void {
  const place = (osDiskShape.biosBoot.startMiB * mebibyte) / 512;
  const descriptor = openSync(image, 'r+');
  try {
    const first = readFileSync('/usr/lib/grub/i386-pc/boot.img').subarray(0, 512);
    first.writeBigUInt64LE(BigInt(place), 0x5c);
    // Two no-ops where GRUB would put the drive number right on faulty firmware.
    first.writeUInt16LE(0x9090, 0x66);
    readSync(descriptor, first, 440, 72, 440);
    const second = readFileSync(secondStage);
    second.writeBigUInt64LE(BigInt(place + 1), 500);
    writeSync(descriptor, first, 0, first.length, 0);
    writeSync(descriptor, second, 0, second.length, place * 512);
  } finally {
    closeSync(descriptor);
  }
}

/** A bootable CoreOS-shaped ostree disk, `labcoreos.raw.zst`, for BIOS and UEFI, waiting for its first boot. */
export const osDisk: CachedPart = {
  kind: 'cached',
  name: 'os-disk',
  purpose: 'the disk image of Lab CoreOS, bootable by BIOS and UEFI',
  pin: '1.0.0',
  cost: '30 seconds, 230 MB',
  tools: [],
  inputs: [osRootfs, osImage, ostreeContainer],
  files: [
    import.meta.filename,
    ...['deploy.sh', 'boot-files.sh', 'unpack.sh', 'in-root.sh', 'xfs-root.sh', 'boot'].map(osFile),
    join(import.meta.dirname, 'coreos-disk.ts'),
  ],
  build,
};
