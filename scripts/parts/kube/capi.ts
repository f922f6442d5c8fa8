import { copyFileSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildSite, type CachedPart } from '../part.ts';
import { buildGoPrograms, downloadGoModule, goToolchain } from '../toolchain.ts';

const coreModule = 'sigs.k8s.io/cluster-api';
const testModule = `${coreModule}/test`;

/**
 * Cluster API with its infrastructure provider in memory: `bin/{capi-core,capd,clusterctl}`, definitions in `crds/{core,dev}/<plural>.<group>.yaml`,
 * webhooks in `webhooks/{core,dev}.yaml`, and the rights of core in `rbac`.
 */
export const capi = clusterApi({
  ...{ name: 'capi', version: '1.14.2', cost: '12 minutes, 160 MB' },
  purpose: 'core, clusterctl and infrastructure in memory',
  programs: { core: `${coreModule}/core`, dev: `${testModule}/infrastructure/docker` },
  others: [`${coreModule}/cmd/clusterctl`],
});

/** The core of the minor version before, in the same folders. */
export const capi113 = clusterApi({
  ...{ name: 'capi-1.13', version: '1.13.4', cost: '9 minutes, 60 MB' },
  ...{ purpose: 'core of the minor version before', programs: { core: coreModule } },
});

interface Release {
  /** Of the part, and of the folder with its go.mod and go.sum. */
  readonly name: string;
  readonly version: string;
  readonly purpose: string;
  readonly cost: string;
  /** Main packages that have manifests in their folders. */
  readonly programs: { readonly core: string; readonly dev?: string };
  readonly others?: readonly string[];
}

function clusterApi({ name, version, purpose, cost, programs, others = [] }: Release): CachedPart {
  const source = join(import.meta.dirname, name);
  return {
    ...{ kind: 'cached', name, pin: version, cost, tools: [goToolchain], inputs: [] },
    purpose: `Cluster API ${version}: ${purpose}`,
    files: [import.meta.filename, ...['go.mod', 'go.sum'].map((file) => join(source, file))],
    build: async (site) => {
      for (const [to, program] of Object.entries(programs))
        await takeManifests(site, to, { source, version, program });
      rmSync(join(site.folder, 'modules'), { recursive: true });
      const packages = [...Object.values(programs), ...others];
      await buildGoPrograms(site, { source, packages, linkerFlags: linkerFlags(version) });
      // Go names a program after its folder.
      const bin = (program: string): string => join(site.folder, 'bin', basename(program));
      renameSync(bin(programs.core), bin('capi-core'));
      if (programs.dev !== undefined) renameSync(bin(programs.dev), bin('capd'));
    },
  };
}

/** clusterctl refuses files of a provider that it is too old for, and a plain build has no version. */
function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.split('.');
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  const set = Object.entries(values).map(
    ([name, value]) => `-X ${coreModule}/version.${name}=${value}`,
  );
  return ['-s', '-w', ...set].join(' ');
}

interface Program {
  readonly source: string;
  readonly version: string;
  readonly program: string;
}

async function takeManifests(
  site: BuildSite,
  to: string,
  { source, version, program }: Program,
): Promise<void> {
  const module = program.startsWith(testModule) ? testModule : coreModule;
  await downloadGoModule(site, source, module);
  const folder = program.replace(module, `${module}@v${version}`);
  const config = join(site.folder, 'modules', folder, 'config');
  take(globSync(join(config, 'crd/bases/*.yaml')), join(site.folder, 'crds', to), crdFile);
  take([join(config, 'webhook/manifests.yaml')], join(site.folder, 'webhooks'), () => `${to}.yaml`);
  const roles = ['role', 'aggregated_role'].map((role) => join(config, 'rbac', `${role}.yaml`));
  if (to === 'core') take(roles, join(site.folder, 'rbac'));
}

/** controller-gen writes `<group>_<plural>.yaml`. */
const crdFile = (name: string): string => name.replace(/^(.*)_(.*)\.yaml$/, '$2.$1.yaml');

function take(files: readonly string[], folder: string, as = (name: string) => name): void {
  mkdirSync(folder, { recursive: true });
  for (const file of files) copyFileSync(file, join(folder, as(basename(file))));
}
