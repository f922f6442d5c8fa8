import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

/** What tests make the agent's image for ppc64le and s390x of: archives of an older Node, and bases. */
export const furtherImages: CachedPart = {
  kind: 'cached',
  name: 'further-images',
  purpose: "an older Node and files of Debian, for the agent's images for ppc64le and s390x",
  pin: 'Node 20.11.0, Debian testing',
  cost: '60 seconds, 92 MB',
  tools: [aptPackages],
  inputs: [],
  files: [
    ...[import.meta.filename, osFile('further-images.sh'), osFile('mirror.sh')],
    join(import.meta.dirname, '../../images/base'),
  ],
  build: ({ folder, log }) => log.run({ argv: [osFile('further-images.sh'), folder] }),
};
