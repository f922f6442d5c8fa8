import { copyFileSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildSite, type CachedPart } from '../part.ts';
import { buildGoPrograms, downloadGoModule, toolchainRoot } from '../toolchain.ts';

const version = '1.13.4';
const source = join(import.meta.dirname, 'capi-1.13');
const module = 'sigs.k8s.io/cluster-api';

/** The core of Cluster API of the minor version before: `bin/capi-core`, and its `crds`, `webhooks` and `rbac` as those of `capi`. */
export const capi113: CachedPart = {
  kind: 'cached',
  name: 'capi-1.13',
  purpose: `Cluster API ${version}: core of the minor version before`,
  pin: version,
  cost: '4 minutes, 60 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
  build: async (site) => {
    await takeManifests(site);
    const linkerFlags = `-s -w -X ${module}/version.gitVersion=v${version}`;
    await buildGoPrograms(site, { source, packages: [module], linkerFlags });
    // Go names a program after its folder.
    renameSync(join(site.folder, 'bin', 'cluster-api'), join(site.folder, 'bin', 'capi-core'));
  },
};

async function takeManifests(site: BuildSite): Promise<void> {
  await downloadGoModule(site, source, module);
  const config = join(site.folder, 'modules', `${module}@v${version}`, 'config');
  const take = (from: string, folder: string, as: (name: string) => string): void => {
    mkdirSync(join(site.folder, folder), { recursive: true });
    for (const file of globSync(join(config, from)))
      copyFileSync(file, join(site.folder, folder, as(basename(file))));
  };
  // controller-gen writes `<group>_<plural>.yaml`.
  take('crd/bases/*.yaml', 'crds/core', (name) => name.replace(/^(.*)_(.*)\.yaml$/, '$2.$1.yaml'));
  take('webhook/manifests.yaml', 'webhooks', () => 'core.yaml');
  take('rbac/{role,aggregated_role}.yaml', 'rbac', (name) => name);
  rmSync(join(site.folder, 'modules'), { recursive: true });
}
