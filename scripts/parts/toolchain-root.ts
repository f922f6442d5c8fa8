import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

/** Debian trixie's cargo 1.85 and its backports' Go 1.26, with what they link against; for machines that have none. */
export const toolchainRoot: CachedPart = {
  kind: 'cached',
  name: 'toolchain-root',
  purpose: 'a Debian trixie tree with cargo and go',
  pin: 'Debian trixie: cargo 1.85, Go 1.26',
  cost: '2 minutes, 1 GB',
  tools: [aptPackages],
  inputs: [],
  files: ['toolchain-root.sh', 'mirror.sh', 'packages/toolchain.txt'].map(osFile),
  build: (site) => site.log.run({ argv: [osFile('toolchain-root.sh'), site.folder] }),
};
