import { join } from 'node:path';

import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { BuildSite, CachedPart } from './part.ts';

const sources = [
  'commit.sh',
  'os-tree.sh',
  'unpack.sh',
  'initramfs.sh',
  'emulated.sh',
  'emulated',
  'ostree-shape.sh',
  'in-root.sh',
];

async function build(site: BuildSite): Promise<void> {
  const archive = join(site.input(osRootfs), 'os.tar.zst');
  const container = join(site.input(ostreeContainer), 'bin', 'ostree-container');
  await site.log.run({ argv: [osFile('commit.sh'), site.folder, archive, container] });
}

/** The operating system as a commit in `repo`, with `vmlinuz` and `initramfs.img` beside it. */
export const osCommit: CachedPart = {
  kind: 'cached',
  name: 'os-commit',
  purpose: 'Lab CoreOS 1.0.0 as an ostree commit, with an initramfs that runs Ignition 2.14',
  pin: '1.0.0',
  cost: '60 seconds, 450 MB',
  tools: [],
  inputs: [osRootfs, ostreeContainer],
  files: [import.meta.filename, ...[...sources, 'tree', 'initramfs'].map(osFile)],
  build,
};
