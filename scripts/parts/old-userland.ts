import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import { type CachedPart, partFolder } from './part.ts';

/** The programs of a live system that is older than util-linux 2.37, for the steps that handle disks. */
export const oldUserland: CachedPart = {
  kind: 'cached',
  name: 'old-userland',
  purpose: 'disk programs as old as those of RHEL 8, to run the disk steps with',
  pin: 'Debian bullseye',
  cost: '30 seconds, 94 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, ...['old-userland.sh', 'mirror.sh'].map(osFile)],
  build: (site) => site.log.run({ argv: [osFile('old-userland.sh'), site.folder] }),
};

/** The tree to change root into; the part must be there. */
export const oldUserlandTree = (): string => join(partFolder(oldUserland), 'tree');
