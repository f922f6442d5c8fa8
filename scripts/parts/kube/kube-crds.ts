import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { startControlPlane } from '../../../mocks/kube/control-plane.ts';
import { applyCrds } from '../../../mocks/kube/crds.ts';
import { type BuildSite, type CachedPart, PartError } from '../part.ts';
import { downloadGoModule, toolchainRoot } from '../toolchain.ts';
import { kubeApi } from './kube-api.ts';

const module = 'github.com/openshift/api';
const source = join(import.meta.dirname, 'crds');
const featureSet = 'Default';

/** The definitions of OpenShift's own kinds, at `<plural>.<group>.yaml`. */
export const kubeCrds: CachedPart = {
  kind: 'cached',
  name: 'kube-crds',
  purpose: "the definitions of OpenShift's kinds",
  pin: '2026-07-28, 8ba0b25b0f29',
  cost: '10 seconds, 3 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
  build: async (site) => {
    await downloadGoModule(site, source, module);
    const modules = join(site.folder, 'modules');
    for (const [name, yaml] of chooseCrds(readManifests(join(modules, 'github.com', 'openshift'))))
      writeFileSync(join(site.folder, `${name}.yaml`), yaml);
    rmSync(modules, { recursive: true });
  },
};

/** A manifest of a CustomResourceDefinition; `operator/v1/…` comes from the API group's folder and version. */
export interface CrdManifest {
  readonly path: string;
  readonly yaml: string;
}

/** `payload-manifests/crds` of the module lacks ClusterVersion and ClusterOperator, so all groups are gone through. */
const readManifests = (folder: string): readonly CrdManifest[] =>
  globSync('api@*/*/v*/zz_generated.crd-manifests/*.yaml', { cwd: folder })
    .map((path) => ({
      path: path.slice(path.indexOf('/') + 1),
      yaml: readFileSync(join(folder, path), 'utf8'),
    }))
    .filter(({ path }) => !path.startsWith('example/'));

interface Head {
  readonly metadata: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/**
 * The manifests that a self-managed cluster gets, by the name of the definition. It decides as the
 * cluster-version operator does: by annotations, since file names say nothing sure.
 * Where a definition has files for v1alpha1 and v1, the one for v1 holds both and is taken.
 */
export function chooseCrds(manifests: readonly CrdManifest[]): ReadonlyMap<string, string> {
  const chosen = new Map<string, string>();
  // "v1alpha1/" sorts behind "v1/": from the last to the first, v1 is what remains.
  const lastFirst = manifests.toSorted((one, other) => (one.path < other.path ? 1 : -1));
  for (const { path, yaml } of lastFirst) {
    // Only the part before the schema is read: reading 11 MB of schemas would take long, and nothing needs it.
    const { name, annotations = {} } = (parse(yaml.split(/^spec:/m, 1)[0] ?? '') as Head).metadata;
    if (name === undefined) throw new Error(`${path}: there is no metadata.name`);
    const sets = annotations['release.openshift.io/feature-set']?.split(',') ?? [featureSet];
    const isSelfManaged =
      annotations['include.release.openshift.io/self-managed-high-availability'] === 'true';
    if (isSelfManaged && sets.includes(featureSet)) chosen.set(name, yaml);
  }
  return chosen;
}

const rig = resolve(import.meta.dirname, '../../../mocks/kube');

/** The data of an etcd whose API server has all of OpenShift's kinds, at `etcd`: copied, it saves their applying. */
export const kubeData: CachedPart = {
  kind: 'cached',
  name: 'kube-data',
  purpose: "the data of an etcd with OpenShift's kinds",
  pin: featureSet,
  cost: '15 seconds, 10 MB',
  tools: [],
  inputs: [kubeApi, kubeCrds],
  files: [import.meta.filename, join(rig, 'server-flags.ts')],
  build: async (site) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'bootwright-kube-data-'));
    try {
      await fillEtcd(site, folder.path);
    } catch (error) {
      throw new PartError(`kube-data: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
};

async function fillEtcd(site: BuildSite, folder: string): Promise<void> {
  const plane = await startControlPlane(join(site.input(kubeApi), 'bin'), folder);
  try {
    const server = await plane.addServer('api');
    await applyCrds(server.client, site.input(kubeCrds), 'all');
    await server.stop();
    await plane.etcd.stop();
  } finally {
    await plane.close();
  }
  // What etcd reserves ahead is empty, and made again at its next start.
  rmSync(join(folder, 'etcd', 'member', 'wal', '0.tmp'), { force: true });
  const data = join(folder, 'etcd');
  await site.log.run({ argv: ['cp', '--recursive', '--sparse=always', data, site.folder] });
}
