import { join } from 'node:path';

import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

const script = join(import.meta.dirname, '..', '..', 'images', 'base', 'rootfs.sh');

/** A Debian root file system, `root.tar`, that stands in for Red Hat's base of the agent's image. */
export const agentImageBase: CachedPart = {
  kind: 'cached',
  name: 'agent-image-base',
  purpose: "a Debian base for the agent's container image",
  pin: 'Debian trixie',
  cost: '30 seconds, 70 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, script, osFile('mirror.sh')],
  build: (site) => site.log.run({ argv: [script, join(site.folder, 'root.tar')] }),
};
