import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { addExt4, coreosPartitions, createImage } from './coreos-disk.ts';
import { osFile } from './os-files.ts';
import type { BuildSite, CachedPart } from './part.ts';

const entry = `title Lab CoreOS tiny (ostree:0)
version 1
options root=LABEL=root rw $ignition_firstboot ignition.platform.id=metal
linux /vmlinuz
initrd /initramfs.img
`;

async function build(site: BuildSite): Promise<void> {
  const boot = join(site.folder, 'boot');
  fillBoot(boot);
  for (const sectorBytes of [512, 4096] as const) {
    const sizes = { diskMiB: 64, espMiB: 8, bootMiB: 32, sectorBytes };
    const partitions = coreosPartitions(sizes);
    const image = join(site.folder, `tiny-${sectorBytes}.raw`);
    await createImage(image, sizes, site.log);
    await addExt4(image, { partition: partitions.boot, content: boot }, site.log);
    await addExt4(image, { partition: partitions.root }, site.log);
    await site.log.run({ argv: ['zstd', '-q', image, '-o', `${image}.zst`] });
  }
  rmSync(boot, { recursive: true });
}

/** All that coreos-installer looks for on a boot partition when it is given every option it has. */
function fillBoot(boot: string): void {
  for (const folder of ['loader.1/entries', 'grub2', 'coreos']) {
    mkdirSync(join(boot, folder), { recursive: true });
  }
  symlinkSync('loader.1', join(boot, 'loader'));
  writeFileSync(join(boot, 'loader.1/entries/ostree-1.conf'), entry);
  writeFileSync(join(boot, 'ignition.firstboot'), '');
  copyFileSync(osFile('boot/console.cfg'), join(boot, 'grub2/console.cfg'));
  copyFileSync(osFile('boot/platforms.json'), join(boot, 'coreos/platforms.json'));
}

/** A 64 MiB disk that coreos-installer accepts and nothing boots: `tiny-512.raw`, `tiny-4096.raw`, and as `.zst`. */
export const tinyDisk: CachedPart = {
  kind: 'cached',
  name: 'tiny-disk',
  purpose: 'a 64 MiB CoreOS-shaped disk that does not boot',
  pin: '1',
  cost: '1 second, 5 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, join(import.meta.dirname, 'coreos-disk.ts'), osFile('boot')],
  build,
};
