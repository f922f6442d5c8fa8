import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { coreosInstaller } from './coreos-installer.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { BuildSite, CachedPart } from './part.ts';

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
