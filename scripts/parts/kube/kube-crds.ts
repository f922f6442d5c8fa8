import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { CachedPart } from '../part.ts';
import { downloadGoModule, goToolchain } from '../toolchain.ts';
import { chooseCrds, type CrdManifest, type FeatureSet } from './crd-choice.ts';

const module = 'github.com/openshift/api';
const source = join(import.meta.dirname, 'crds');
const featureSets = ['Default', 'TechPreviewNoUpgrade'] as const satisfies readonly FeatureSet[];

/** The sets of features whose definitions are kept. */
export type KeptFeatureSet = (typeof featureSets)[number];

/** The definitions of OpenShift's own kinds, at `<feature set>/<plural>.<group>.yaml`. */
export const kubeCrds: CachedPart = {
  kind: 'cached',
  name: 'kube-crds',
  purpose: "the definitions of OpenShift's kinds",
  pin: '2026-07-28, 8ba0b25b0f29',
  cost: '10 seconds, 6 MB',
  tools: [goToolchain],
  inputs: [],
  files: [
    ...[import.meta.filename, join(import.meta.dirname, 'crd-choice.ts')],
    ...['go.mod', 'go.sum'].map((name) => join(source, name)),
  ],
  build: async (site) => {
    await downloadGoModule(site, source, module);
    const modules = join(site.folder, 'modules');
    const manifests = readManifests(join(modules, 'github.com', 'openshift'));
    for (const set of featureSets) writeSet(join(site.folder, set), manifests, set);
    rmSync(modules, { recursive: true });
  },
};

/** `payload-manifests/crds` of the module lacks ClusterVersion and ClusterOperator, so all groups are gone through. */
function readManifests(folder: string): CrdManifest[] {
  return globSync('api@*/*/v*/zz_generated.crd-manifests/*.yaml', { cwd: folder })
    .map((path) => ({ path: path.slice(path.indexOf('/') + 1), at: join(folder, path) }))
    .filter(({ path }) => !path.startsWith('example/'))
    .map(({ path, at }) => ({ path, yaml: readFileSync(at, 'utf8') }));
}

function writeSet(folder: string, manifests: readonly CrdManifest[], set: FeatureSet): void {
  mkdirSync(folder);
  for (const [name, yaml] of chooseCrds(manifests, set))
    writeFileSync(join(folder, `${name}.yaml`), yaml);
}
