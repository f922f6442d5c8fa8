import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

/** A registry of container images, at `bin/docker-registry`. */
export const imageRegistry: CachedPart = {
  kind: 'cached',
  name: 'image-registry',
  purpose: 'a registry of container images: distribution, as Debian has it',
  pin: "the machine's own Debian suite",
  cost: '2 seconds, 20 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, osFile('image-registry.sh')],
  build: (site) => site.log.run({ argv: [osFile('image-registry.sh'), site.folder] }),
};
