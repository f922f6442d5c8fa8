import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

const sources = [
  'rootfs.sh',
  'mirror.sh',
  'archive.sh',
  'growpart.sh',
  'packages/os.txt',
  'packages/live.txt',
  'packages/left-out.txt',
];

/** Debian's packages as two trees: `os.tar.zst`, and `live.tar.zst` with the live system's tools besides. */
export const osRootfs: CachedPart = {
  kind: 'cached',
  name: 'os-rootfs',
  purpose: 'the Debian packages of Lab CoreOS and of its live system',
  pin: 'Debian trixie',
  cost: '75 seconds, 350 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, ...sources.map(osFile)],
  build: (site) => site.log.run({ argv: [osFile('rootfs.sh'), site.folder] }),
};
