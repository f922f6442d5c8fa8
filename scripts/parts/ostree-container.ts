import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';
import { buildRust, toolchainRoot } from './toolchain.ts';

const source = osFile('ostree-container');

/** The command `ostree container`, at `bin/ostree-container`. Debian's ostree has none; RHCOS has it from rpm-ostree. */
export const ostreeContainer: CachedPart = {
  kind: 'cached',
  name: 'ostree-container',
  purpose: 'the command ostree container, which puts container images into an ostree system',
  pin: 'ostree-ext 0.15.3',
  cost: '5 minutes, 6 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, source],
  build: (site) => buildRust(site, source),
};
