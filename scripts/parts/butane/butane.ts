import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { CachedPart } from '../part.ts';
import { buildGoPrograms, toolchainRoot } from '../toolchain.ts';

const version = '0.25.1';

/** Butane, at `bin/butane`. */
export const butane: CachedPart = {
  kind: 'cached',
  name: 'butane',
  purpose: `Butane ${version}, which makes Ignition of what people write`,
  pin: version,
  cost: '25 seconds, 12 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [
    import.meta.filename,
    ...['go.mod', 'go.sum'].map((name) => join(import.meta.dirname, name)),
  ],
  build: async (site) => {
    await buildGoPrograms(site, {
      source: import.meta.dirname,
      packages: ['github.com/coreos/butane/internal'],
      linkerFlags: `-s -w -X github.com/coreos/butane/internal/version.Raw=v${version}`,
    });
    // Go names a program after its folder.
    renameSync(join(site.folder, 'bin', 'internal'), join(site.folder, 'bin', 'butane'));
  },
};
