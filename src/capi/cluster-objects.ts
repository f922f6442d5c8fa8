import { gapIn } from '../ports/kube-failures.ts';
import type { Kube, KubeObject, KubeSelection, KubeView } from '../ports/kube.ts';
import {
  type ApiCondition,
  type BootstrapConfig,
  bootstrapConfigs,
  capiNames,
  clusters,
  controlPlanes,
  type HostProgress,
  type OpenShiftControlPlane,
} from './api.ts';
import { findCondition, isConditionTrue, isFailure } from './conditions.ts';
import { ladderOf, railOfStages } from '../page/rail.ts';
import type { PageUpdate, Tone } from '../page/state.ts';

/** The objects of one Cluster, as they were last seen. */
export interface ClusterObjects {
  readonly cluster: KubeObject | undefined;
  readonly controlPlane: OpenShiftControlPlane | undefined;
  /** Sorted by name. */
  readonly configs: readonly BootstrapConfig[];
}

/** The name of a config's host: the name of its Machine. */
export const hostName = ({ name, ownerReferences = [] }: BootstrapConfig['metadata']): string =>
  ownerReferences.find(({ kind }) => kind === 'Machine')?.name ?? name;

/** Whether a cluster and each of its hosts are installed. */
export const isInstalled = ({
  controlPlane,
  configs,
}: Pick<ClusterObjects, 'controlPlane' | 'configs'>): boolean =>
  isConditionTrue(controlPlane?.status?.conditions, 'Installed') &&
  configs.length > 0 &&
  configs.every(({ status }) => isConditionTrue(status?.conditions, 'Ready'));

/** The receiver of the objects of a Cluster. */
interface Follower {
  /**
   * Called after each change, once all kinds have been listed; `lastError` is the reason why an
   * object may be out of date.
   */
  readonly seen: (objects: ClusterObjects, lastError: string | undefined) => void;
  readonly signal: AbortSignal;
}

/**
 * Follows the objects of a Cluster that show the progress of its installation, until the signal
 * aborts; then resolves. Reads the objects themselves rather than core's copies, as core reconciles
 * an object at most once a second.
 */
export async function followCluster(
  kube: Pick<Kube, 'follow'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { seen, signal }: Follower,
): Promise<void> {
  const labelSelector = `${capiNames.clusterName}=${name}`;
  const selections: readonly KubeSelection[] = [
    { kind: clusters, namespace, fieldSelector: `metadata.name=${name}` },
    { kind: controlPlanes, namespace, labelSelector },
    { kind: bootstrapConfigs, namespace, labelSelector },
  ];
  const views = selections.map((): KubeView => ({ isSynced: false, objects: [], changes: [] }));
  const report = (): void => {
    const [lastError] = views.flatMap((view) => (view.lastError && gapIn(view)) ?? []);
    if (lastError === undefined && !views.every(({ isSynced }) => isSynced)) return;
    const [cluster, controlPlane, configs] = views.map(({ objects }) => objects);
    const objects = {
      cluster: cluster?.[0],
      controlPlane: controlPlane?.[0] as OpenShiftControlPlane | undefined,
      configs: (configs ?? []) as readonly BootstrapConfig[],
    };
    seen(objects, lastError);
  };
  await Promise.all(
    selections.map((selection, at) =>
      kube.follow(
        selection,
        (view) => {
          views[at] = view;
          report();
        },
        signal,
      ),
    ),
  );
}

/** The updates of a page from the objects of a Cluster at one moment. */
export function pageUpdates(
  { cluster, controlPlane, configs }: ClusterObjects,
  at: number,
): readonly PageUpdate[] {
  if (cluster === undefined) return [];
  const { name, namespace = '', creationTimestamp } = cluster.metadata;
  const { distributionVersion, replicas } = controlPlane?.spec ?? {};
  const conditions = controlPlane?.status?.conditions ?? [];
  const { reason = 'waiting for the control plane', message = '' } =
    findCondition(conditions, 'Available') ?? {};
  const version = distributionVersion === undefined ? '' : `, OpenShift ${distributionVersion}`;
  const title = `Cluster ${namespace}/${name}${version}`;
  const updates: PageUpdate[] = [
    { kind: 'begin', at, startedAt: timeOf(creationTimestamp, at), title },
    { kind: 'cluster', at, status: reason, info: message },
    ...conditions.map((one) => conditionUpdate(one, at)),
    ...configs.flatMap((config) => hostUpdates(config, replicas === 1, at)),
  ];
  // Only success ends the page: a failed host may be tried again, and an object may be corrected.
  if (isInstalled({ controlPlane, configs })) {
    const ready = configs.map(({ status }) => findCondition(status?.conditions, 'Ready'));
    const last = [findCondition(conditions, 'Installed'), ...ready].map((one) =>
      timeOf(one?.lastTransitionTime, at),
    );
    updates.push({
      kind: 'end',
      at: Math.max(...last),
      isGood: true,
      text: 'installed',
      details: [],
    });
  }
  return updates;
}

/** A condition of the control plane as an object of the page. */
function conditionUpdate(condition: ApiCondition, at: number): PageUpdate {
  const { type: name, reason, message = '' } = condition;
  const state = message === '' ? reason : `${reason}: ${message}`;
  return {
    kind: 'object',
    at,
    object: { kind: 'Condition', name, state, tone: toneOf(condition) },
  };
}

/** Conditions for which False is good (Cluster API, `Paused` and the scaling conditions). */
const goodWhenFalse: ReadonlySet<string> = new Set(['Paused', 'Deleting', 'Upgrading']);

function toneOf(condition: ApiCondition): Tone {
  if (isFailure(condition)) return 'bad';
  if (condition.status === 'Unknown') return 'idle';
  const good = goodWhenFalse.has(condition.type) ? 'False' : 'True';
  return condition.status === good ? 'good' : 'busy';
}

function progressText(progress: HostProgress | undefined): string {
  const { percent, message = '' } = progress ?? {};
  return [percent === undefined ? '' : `${percent}%`, message]
    .filter((part) => part !== '')
    .join(' ');
}

function hostUpdates(
  { metadata, status = {} }: BootstrapConfig,
  isSingleNode: boolean,
  at: number,
): readonly PageUpdate[] {
  const { uid: id = metadata.name } = metadata;
  const { role = '', progress } = status;
  const { stage = '', stageStartedAt } = progress ?? {};
  const ready = findCondition(status.conditions, 'Ready');
  const hasFailed = ready !== undefined && isFailure(ready);
  const rail = railOfStages(ladderOf(role, isSingleNode));
  const updates: PageUpdate[] = [
    { kind: 'host', at, id, name: hostName(metadata), role, rail },
    {
      kind: 'stage',
      at,
      host: id,
      stage,
      since: timeOf(stageStartedAt, at),
      info: hasFailed ? (ready.message ?? '') : progressText(progress),
      status: hasFailed ? 'error' : (ready?.reason ?? ''),
    },
  ];
  if (ready?.status === 'True') {
    const ended = timeOf(ready.lastTransitionTime, at);
    updates.push({ kind: 'host-end', at: ended, host: id, isGood: true, text: 'installed' });
  }
  return updates;
}

/**
 * A time of the API server, in milliseconds since the epoch; the present time if it is missing or
 * in the future.
 */
function timeOf(text: string | undefined, at: number): number {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? at : Math.min(time, at);
}
