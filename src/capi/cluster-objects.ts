import { gapIn } from '../ports/kube-failures.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection, KubeView } from '../ports/kube.ts';
import {
  type BootstrapConfig,
  bootstrapConfigs,
  capiNames,
  clusters,
  type OpenShiftControlPlane,
  controlPlanes,
} from './api.ts';
import { isConditionTrue } from './conditions.ts';

/** The objects of one Cluster, as they were last seen. */
export interface ClusterObjects {
  readonly cluster: KubeObject | undefined;
  readonly controlPlane: OpenShiftControlPlane | undefined;
  /** In the order of their names. */
  readonly configs: readonly BootstrapConfig[];
}

/** The name of the host of a config: that of its Machine. */
export const hostName = ({ name, ownerReferences = [] }: BootstrapConfig['metadata']): string =>
  ownerReferences.find(({ kind }) => kind === 'Machine')?.name ?? name;

/** Whether the API of a cluster answers, and each of its hosts is installed. */
export const isInstalled = ({
  controlPlane,
  configs,
}: Pick<ClusterObjects, 'controlPlane' | 'configs'>): boolean =>
  isConditionTrue(controlPlane?.status?.conditions, 'Available') &&
  configs.length > 0 &&
  configs.every(({ status }) => isConditionTrue(status?.conditions, 'Ready'));

/** Who follows a Cluster. */
interface Follower {
  /** Called after each change, once all kinds have been listed; with why one of them may be old. */
  readonly seen: (objects: ClusterObjects, lastError: string | undefined) => void;
  readonly signal: AbortSignal;
}

/**
 * Follows the objects of a Cluster that say how its installation fares, until the signal aborts; then resolves. They are read
 * themselves, and not what core mirrors of them: it reconciles an object once a second at most.
 */
export async function followCluster(
  kube: Pick<Kube, 'follow'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { seen, signal }: Follower,
): Promise<void> {
  const labelSelector = `${capiNames.clusterName}=${name}`;
  const unseen: KubeView = { isSynced: false, objects: [], changes: [] };
  const views = { cluster: unseen, controlPlane: unseen, configs: unseen };
  const report = (): void => {
    const all = Object.values(views);
    const lastError = all
      .map((view) => view.lastError && gapIn(view))
      .find((one) => one !== undefined);
    if (lastError === undefined && !all.every(({ isSynced }) => isSynced)) return;
    seen(
      {
        cluster: views.cluster.objects[0],
        controlPlane: views.controlPlane.objects[0] as OpenShiftControlPlane | undefined,
        configs: views.configs.objects as readonly BootstrapConfig[],
      },
      lastError,
    );
  };
  const follow = (
    part: keyof typeof views,
    kind: KubeKind,
    which: Pick<KubeSelection, 'labelSelector' | 'fieldSelector'>,
  ): Promise<void> => {
    const take = (view: KubeView): void => {
      views[part] = view;
      report();
    };
    return kube.follow({ kind, namespace, ...which }, take, signal);
  };
  await Promise.all([
    follow('cluster', clusters, { fieldSelector: `metadata.name=${name}` }),
    follow('controlPlane', controlPlanes, { labelSelector }),
    follow('configs', bootstrapConfigs, { labelSelector }),
  ]);
}
