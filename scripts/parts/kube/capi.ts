import { copyFileSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildSite, type CachedPart } from '../part.ts';
import { buildGoPrograms, downloadGoModule, toolchainRoot } from '../toolchain.ts';

const version = '1.14.2';
const source = join(import.meta.dirname, 'capi');
const coreModule = 'sigs.k8s.io/cluster-api';
const testModule = `${coreModule}/test`;

/**
 * Cluster API with its infrastructure provider in memory: `bin/{capi-core,capd,clusterctl}`, definitions in `crds/{core,dev}/<plural>.<group>.yaml`,
 * webhooks in `webhooks/{core,dev}.yaml`, and the rights of core in `rbac`.
 */
export const capi: CachedPart = {
  kind: 'cached',
  name: 'capi',
  purpose: `Cluster API ${version}: core, clusterctl and infrastructure in memory`,
  pin: version,
  cost: '12 minutes, 160 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
  build: async (site) => {
    await takeManifests(site);
    await buildGoPrograms(site, {
      source,
      packages: [
        `${coreModule}/core`,
        `${testModule}/infrastructure/docker`,
        `${coreModule}/cmd/clusterctl`,
      ],
      linkerFlags: linkerFlags(),
    });
    // Go names a program after its folder.
    const bin = join(site.folder, 'bin');
    renameSync(join(bin, 'core'), join(bin, 'capi-core'));
    renameSync(join(bin, 'docker'), join(bin, 'capd'));
  },
};

/** clusterctl refuses files of a provider that it is too old for, and a plain build has no version. */
function linkerFlags(): string {
  const [major = '', minor = ''] = version.split('.');
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  const set = Object.entries(values).map(
    ([name, value]) => `-X ${coreModule}/version.${name}=${value}`,
  );
  return ['-s', '-w', ...set].join(' ');
}

async function takeManifests(site: BuildSite): Promise<void> {
  for (const module of [coreModule, testModule]) await downloadGoModule(site, source, module);
  const modules = join(site.folder, 'modules');
  const core = join(modules, `${coreModule}@v${version}`, 'core', 'config');
  const dev = join(modules, `${testModule}@v${version}`, 'infrastructure', 'docker', 'config');
  for (const [name, from] of [
    ['core', core],
    ['dev', dev],
  ] as const) {
    take(globSync(join(from, 'crd/bases/*.yaml')), join(site.folder, 'crds', name), crdFile);
    mkdirSync(join(site.folder, 'webhooks'), { recursive: true });
    copyFileSync(join(from, 'webhook/manifests.yaml'), join(site.folder, `webhooks/${name}.yaml`));
  }
  const roles = ['role', 'aggregated_role'].map((role) => join(core, 'rbac', `${role}.yaml`));
  take(roles, join(site.folder, 'rbac'));
  rmSync(modules, { recursive: true });
}

/** controller-gen writes `<group>_<plural>.yaml`. */
const crdFile = (name: string): string => name.replace(/^(.*)_(.*)\.yaml$/, '$2.$1.yaml');

function take(files: readonly string[], folder: string, as = (name: string) => name): void {
  mkdirSync(folder, { recursive: true });
  for (const file of files) copyFileSync(file, join(folder, as(basename(file))));
}
