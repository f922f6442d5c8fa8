import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { coreosInstaller } from './coreos-installer.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import { type BuildSite, type CachedPart, partFolder } from './part.ts';

/** The emulator of the guests: QEMU 10 does their work in 10 to 20 % less processor time than the 7.2 of Debian 12. */
export const qemu: CachedPart = {
  kind: 'cached',
  name: 'qemu',
  purpose: 'QEMU 10, which emulates the guests',
  pin: 'Debian trixie',
  cost: '15 seconds, 103 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, ...['qemu.sh', 'mirror.sh'].map(osFile)],
  build: (site) => site.log.run({ argv: [osFile('qemu.sh'), site.folder] }),
};

/** The path of `qemu-system-x86_64`; the part must be there. */
export function qemuProgram(): string {
  return join(partFolder(qemu), 'bin', 'qemu-system-x86_64');
}

async function build(site: BuildSite): Promise<void> {
  const archive = join(site.input(osRootfs), 'live.tar.zst');
  const installer = join(site.input(coreosInstaller), 'bin', 'coreos-installer');
  const container = join(site.input(ostreeContainer), 'bin', 'ostree-container');
  const tree = join(site.folder, 'tree');
  const image = join(site.folder, 'live.raw');
  await site.log.run({
    argv: [osFile('live-tree.sh'), archive, installer, container, site.folder],
  });
  await site.log.run({
    argv: ['mke2fs', '-q', '-t', 'ext4', '-L', 'live', '-d', tree, image, '2G'],
  });
  rmSync(tree, { recursive: true });
}

/** The system that an installation runs from: `live.raw` with `vmlinuz` and `initrd.img` to start it. */
export const liveRoot: CachedPart = {
  kind: 'cached',
  name: 'live-root',
  purpose: 'a live system with coreos-installer, to install from in a guest',
  pin: 'Debian trixie',
  cost: '15 seconds, 450 MB',
  tools: [],
  inputs: [osRootfs, coreosInstaller, ostreeContainer],
  files: [
    import.meta.filename,
    ...['live-tree.sh', 'emulated.sh', 'emulated', 'unpack.sh', 'live'].map(osFile),
  ],
  build,
};
