import { join, resolve } from 'node:path';
import type { CachedPart } from './part.ts';
import { buildGo, toolchainRoot } from './toolchain.ts';

/** A Go program under `scripts/oracles` that answers as the real implementation does, at `bin/NAME`. */
function oracle(card: Pick<CachedPart, 'name' | 'purpose' | 'pin' | 'cost'>): CachedPart {
  const source = resolve(import.meta.dirname, '../oracles', card.name);
  return {
    ...card,
    kind: 'cached',
    tools: [toolchainRoot],
    inputs: [],
    files: [
      import.meta.filename,
      ...['go.mod', 'go.sum', 'main.go'].map((name) => join(source, name)),
    ],
    build: (site) => buildGo(site, source),
  };
}

/** Ignition's own merge and validation. */
export const ignitionMerge = oracle({
  name: 'ignition-merge',
  purpose: "Ignition's own merge and validation, for our tests to compare with",
  pin: 'v2.24.0',
  cost: '30 seconds, 8 MB',
});

/** The name of a MachineOSBuild by the operator's types and YAML libraries. */
export const layeringName = oracle({
  name: 'layering-name',
  purpose: "names of MachineOSBuilds by Go's own libraries, for our tests to compare with",
  pin: 'yaml.v2 v2.4.0',
  cost: '1 minute, 11 MB',
});
