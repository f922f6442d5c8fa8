import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { startControlPlane } from '../../../mocks/kube/control-plane.ts';
import { applyCrds } from '../../../mocks/kube/crds.ts';
import { type BuildSite, type CachedPart, PartError } from '../part.ts';
import { downloadGoModule, goToolchain } from '../toolchain.ts';
import { kubeApi } from './kube-api.ts';

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
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
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

/**
 * The sets of features a cluster can be installed with, as `release.openshift.io/feature-set` names them.
 *
 * @see https://github.com/openshift/api/blob/master/config/v1/types_feature.go
 */
export type FeatureSet =
  'Default' | 'TechPreviewNoUpgrade' | 'DevPreviewNoUpgrade' | 'CustomNoUpgrade' | 'OKD';

/** A manifest of a CustomResourceDefinition, and where in its module it lies. */
export interface CrdManifest {
  /** Relative to the module; `operator/v1/…` comes from the API group's folder and version. */
  readonly path: string;
  readonly yaml: string;
}

interface Head {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/**
 * The manifests that a self-managed cluster with this feature set gets, by the name of the definition. It
 * decides as the cluster-version operator does: by annotations, since file names say nothing sure.
 * Where a definition has files for v1alpha1 and v1, the one for v1 holds both and is taken.
 */
export function chooseCrds(
  manifests: readonly CrdManifest[],
  featureSet: FeatureSet,
): ReadonlyMap<string, string> {
  const chosen = new Map<string, string>();
  for (const { path, yaml } of manifests.toSorted(laterVersionsFirst)) {
    const { name, annotations } = headOf(yaml, path).metadata;
    if (isIncluded(annotations ?? {}, featureSet)) chosen.set(name, yaml);
  }
  return chosen;
}

/** "v1alpha1/" sorts behind "v1/": from the last to the first, v1 is what remains. */
function laterVersionsFirst(one: CrdManifest, other: CrdManifest): number {
  return one.path < other.path ? 1 : -1;
}

/** Only the part before the schema is read: reading 11 MB of schemas would take long, and nothing needs it. */
function headOf(yaml: string, path: string): Head {
  const [head = ''] = yaml.split(/^spec:/m, 1);
  const parsed = parse(head) as Head | null;
  if (parsed?.metadata.name === undefined) throw new Error(`${path}: there is no metadata.name`);
  return parsed;
}

function isIncluded(annotations: Readonly<Record<string, string>>, wanted: FeatureSet): boolean {
  if (annotations['include.release.openshift.io/self-managed-high-availability'] !== 'true')
    return false;
  const sets = annotations['release.openshift.io/feature-set'];
  return sets === undefined || sets.split(',').includes(wanted);
}

const featureSet: KeptFeatureSet = 'Default';
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
    const folder = await mkdtemp(join(tmpdir(), 'bootwright-kube-data-'));
    try {
      await fillEtcd(site, folder);
    } catch (error) {
      throw new PartError(`kube-data: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function fillEtcd(site: BuildSite, folder: string): Promise<void> {
  const plane = await startControlPlane(join(site.input(kubeApi), 'bin'), folder);
  try {
    const server = await plane.addServer('api');
    await applyCrds(server.client, join(site.input(kubeCrds), featureSet), 'all');
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
