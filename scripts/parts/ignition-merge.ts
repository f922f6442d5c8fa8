import { join, resolve } from 'node:path';
import type { CachedPart } from './part.ts';
import { buildGo, goToolchain } from './toolchain.ts';

const source = resolve(import.meta.dirname, '../oracles/ignition-merge');

/** Ignition's own merge and validation, at `bin/ignition-merge`. */
export const ignitionMerge: CachedPart = {
  kind: 'cached',
  name: 'ignition-merge',
  purpose: "Ignition's own merge and validation, for our tests to compare with",
  pin: 'v2.24.0',
  cost: '30 seconds, 8 MB',
  tools: [goToolchain],
  inputs: [],
  files: [
    import.meta.filename,
    ...['go.mod', 'go.sum', 'main.go'].map((name) => join(source, name)),
  ],
  build: (site) => buildGo(site, source),
};
