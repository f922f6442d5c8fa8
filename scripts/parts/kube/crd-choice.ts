import { parse } from 'yaml';

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

/** Only what stands before the schema is read: reading 11 MB of schemas would take long, and nothing needs it. */
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
