import { join, resolve } from 'node:path';
import type { CachedPart } from './part.ts';
import { buildGo, goToolchain } from './toolchain.ts';

const source = resolve(import.meta.dirname, '../oracles/layering-name');

/** The name of a MachineOSBuild by the operator's types and YAML libraries, at `bin/layering-name`. */
export const layeringName: CachedPart = {
  kind: 'cached',
  name: 'layering-name',
  purpose: "names of MachineOSBuilds by Go's own libraries, for our tests to compare with",
  pin: 'yaml.v2 v2.4.0',
  cost: '1 minute, 11 MB',
  tools: [goToolchain],
  inputs: [],
  files: [
    import.meta.filename,
    ...['go.mod', 'go.sum', 'main.go'].map((name) => join(source, name)),
  ],
  build: (site) => buildGo(site, source),
};
