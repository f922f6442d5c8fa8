import { gapIn } from '../ports/kube-failures.ts';
import type { Kube, KubeKind, KubeObject, KubeSelection, KubeView } from '../ports/kube.ts';
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
  /** In the order of their names. */
  readonly configs: readonly BootstrapConfig[];
}

/** The name of the host of a config: that of its Machine. */
export const hostName = ({ name, ownerReferences = [] }: BootstrapConfig['metadata']): string =>
  ownerReferences.find(({ kind }) => kind === 'Machine')?.name ?? name;

/** Whether a cluster has come to its end, and each of its hosts is installed. */
export const isInstalled = ({
  controlPlane,
  configs,
}: Pick<ClusterObjects, 'controlPlane' | 'configs'>): boolean =>
  isConditionTrue(controlPlane?.status?.conditions, 'Installed') &&
  configs.length > 0 &&
  configs.every(({ status }) => isConditionTrue(status?.conditions, 'Ready'));

/** Who follows a Cluster. */
interface Follower {
  /** Called after each change, once all kinds have been listed; with why one of them may be old. */
  readonly seen: (objects: ClusterObjects, lastError: string | undefined) => void;
  readonly signal: AbortSignal;
}

/**
 * Follows the objects of a Cluster that say how its installation fares, until the signal aborts;
 * then resolves. They are read themselves, and not what core mirrors of them: it reconciles an
 * object once a second at most.
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

/**
 * What the objects of a Cluster tell a page at one moment; what is not new in them changes nothing
 * there.
 */
export function pageUpdates(
  { cluster, controlPlane, configs }: ClusterObjects,
  at: number,
): readonly PageUpdate[] {
  if (cluster === undefined) return [];
  const { spec, status } = controlPlane ?? {};
  const conditions = status?.conditions ?? [];
  const available = findCondition(conditions, 'Available');
  const { reason = 'waiting for the control plane', message = '' } = available ?? {};
  const isSingleNode = spec?.replicas === 1;
  return [
    beginOf(cluster, spec?.distributionVersion, at),
    { kind: 'cluster', at, status: reason, info: message },
    ...conditions.map((one) => conditionUpdate(one, at)),
    ...configs.flatMap((config) => hostUpdates(config, { isSingleNode, at })),
    ...(isInstalled({ controlPlane, configs })
      ? [endOf(findCondition(conditions, 'Installed'), configs, at)]
      : []),
  ];
}

function beginOf({ metadata }: KubeObject, version: string | undefined, at: number): PageUpdate {
  const { name, namespace = '', creationTimestamp } = metadata;
  const title = `Cluster ${namespace}/${name}${version === undefined ? '' : `, OpenShift ${version}`}`;
  return { kind: 'begin', at, startedAt: timeOf(creationTimestamp, at), title };
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

/**
 * Conditions that are good while they are False (Cluster API, `Paused` and the ones of scaling).
 */
const goodWhenFalse: ReadonlySet<string> = new Set(['Paused', 'Deleting', 'Upgrading']);

function toneOf(condition: ApiCondition): Tone {
  if (isFailure(condition)) return 'bad';
  if (condition.status === 'Unknown') return 'idle';
  const good = goodWhenFalse.has(condition.type) ? 'False' : 'True';
  return condition.status === good ? 'good' : 'busy';
}

function hostUpdates(
  { metadata, status = {} }: BootstrapConfig,
  { isSingleNode, at }: { readonly isSingleNode: boolean; readonly at: number },
): readonly PageUpdate[] {
  const { uid: id = metadata.name } = metadata;
  const { role = '', progress } = status;
  const ready = findCondition(status.conditions, 'Ready');
  const rail = railOfStages(ladderOf(role, isSingleNode));
  const since = timeOf(progress?.stageStartedAt, at);
  return [
    { kind: 'host', at, id, name: hostName(metadata), role, rail },
    {
      kind: 'stage',
      at,
      host: id,
      stage: progress?.stage ?? '',
      since,
      ...stateOf(ready, progress),
    },
    ...(ready?.status === 'True' ? [installedAt(id, timeOf(ready.lastTransitionTime, at))] : []),
  ];
}

function stateOf(
  ready: ApiCondition | undefined,
  progress: HostProgress | undefined,
): { readonly info: string; readonly status: string } {
  if (ready !== undefined && isFailure(ready))
    return { info: ready.message ?? '', status: 'error' };
  const { percent, message = '' } = progress ?? {};
  const parts = [percent === undefined ? '' : `${percent}%`, message];
  return { info: parts.filter((part) => part !== '').join(' '), status: ready?.reason ?? '' };
}

const installedAt = (host: string, at: number): PageUpdate => ({
  kind: 'host-end',
  at,
  host,
  isGood: true,
  text: 'installed',
});

/** It ends well only: a host that failed may be tried again, and an object may be put right. */
function endOf(
  installed: ApiCondition | undefined,
  configs: readonly BootstrapConfig[],
  at: number,
): PageUpdate {
  const changed = [
    installed,
    ...configs.map(({ status }) => findCondition(status?.conditions, 'Ready')),
  ];
  const last = Math.max(...changed.map((one) => timeOf(one?.lastTransitionTime, at)));
  return { kind: 'end', at: last, isGood: true, text: 'installed', details: [] };
}

/**
 * A time of the API server, in milliseconds since the epoch; one that is missing, or is still to
 * come, is now.
 */
function timeOf(text: string | undefined, at: number): number {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? at : Math.min(time, at);
}
