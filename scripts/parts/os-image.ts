import { join } from 'node:path';

import { osCommit } from './os-commit.ts';
import { osFile } from './os-files.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { BuildSite, CachedPart } from './part.ts';

async function build(site: BuildSite): Promise<void> {
  const archive = join(site.input(osRootfs), 'os.tar.zst');
  const container = join(site.input(ostreeContainer), 'bin', 'ostree-container');
  const repo = join(site.input(osCommit), 'repo');
  await site.log.run({ argv: [osFile('image.sh'), site.folder, archive, container, repo] });
}

/** The operating system as a container image, which the disk is made from: an OCI layout `oci` with the tag `base`. */
export const osImage: CachedPart = {
  kind: 'cached',
  name: 'os-image',
  purpose: 'Lab CoreOS 1.0.0 as a container image, which others are built upon',
  pin: '1.0.0',
  cost: '45 seconds, 190 MB',
  tools: [],
  inputs: [osRootfs, osCommit, ostreeContainer],
  files: [import.meta.filename, ...['image.sh', 'unpack.sh', 'in-root.sh'].map(osFile)],
  build,
};
