// The controllers of the Machine Config Operator in the cluster, as pure functions of API objects
// (machine-config-controller and machine-os-builder as seen on 4.23).
import type { KubeObject } from '../../../src/ports/kube.ts';
import { objectIn } from '../object-files.ts';
import { kinds } from '../objects.ts';
import type { ClusterWork } from '../site.ts';
import {
  annotation,
  conditionIn,
  hasRole,
  imageOf,
  keyOf,
  partAt,
  textIn,
} from '../../layering/objects.ts';
import type { LayeredSite } from '../../layering/plan.ts';

/** The controllers' view of one pool. */
export interface PoolView {
  readonly pool: KubeObject;
  /** The pool has come up in the node controller's queue. */
  readonly isDue: boolean;
  readonly osConfig: KubeObject | undefined;
  /** Age of the MachineOSConfig. */
  readonly orderedForMillis: number;
  /** Every MachineOSBuild. */
  readonly builds: readonly KubeObject[];
  /** Builds that arrived while the builder ran and that it treats as its own. */
  readonly pickedUp: readonly string[];
  /** Nodes of the pool. */
  readonly nodes: readonly KubeObject[];
  /** Names of jobs. */
  readonly jobs: readonly string[];
}

/** An action of a controller. */
type ControllerAction =
  /** The node controller removes the image from a node of a pool that is not layered. */
  | { readonly kind: 'take-image'; readonly node: string }
  | { readonly kind: 'roll-out'; readonly node: string; readonly image: string }
  /** The builder starts a job, because it knows of no suitable image. */
  | { readonly kind: 'start-build'; readonly pool: string; readonly because: string }
  /** The builder starts a job for a build as it was at its arrival: without a status. */
  | { readonly kind: 'start-job'; readonly build: string };

/** Delay of the operator's queues (machine-config-operator, `updateDelay`). */
export const ACTS_AFTER_MILLIS = 5000;

const renderedOf = ({ pool }: PoolView): string => textIn(pool, 'spec', 'configuration', 'name');

/** Whether the nodes of a pool stay unchanged; the builder builds for it all the same. */
export const isPaused = (pool: KubeObject | undefined): boolean =>
  partAt(pool, 'spec', 'paused') === true;

/** The actions of the controllers for a pool: one node at a time. */
export function decideControllers(view: PoolView): readonly ControllerAction[] {
  if (renderedOf(view) === '') return [];
  if (view.osConfig === undefined) return unlayered(view);
  const picked = view.pickedUp.filter((name) => !view.jobs.includes(`build-${name}`));
  if (picked.length > 0) return picked.map((build) => ({ kind: 'start-job', build }));
  const because = whyBuild(view);
  if (because !== undefined) {
    const { name } = view.pool.metadata;
    const isStarted = view.jobs.some((job) => job.startsWith(`build-${name}-`));
    return isStarted || view.orderedForMillis < ACTS_AFTER_MILLIS
      ? []
      : [{ kind: 'start-build', pool: name, because }];
  }
  const image = imageOf(view.osConfig);
  return image === '' ? [] : rollOut(view, image);
}

function unlayered(view: PoolView): readonly ControllerAction[] {
  if (!view.isDue || isHeld(view)) return [];
  const [node] = view.nodes.filter((one) => annotation(one, 'desiredImage') !== '');
  return node === undefined ? [] : [{ kind: 'take-image', node: node.metadata.name }];
}

/** The reason for a build; undefined when the MachineOSConfig has a build of its MachineConfig. */
function whyBuild(view: PoolView): string | undefined {
  const name = annotation(view.osConfig, 'current-machine-os-build');
  const build = view.builds.find(({ metadata }) => metadata.name === name);
  if (build === undefined) return name === '' ? 'it names no build' : `there is no build ${name}`;
  const built = textIn(build, 'spec', 'machineConfig', 'name');
  if (built !== renderedOf(view)) return `build ${name} is of ${built}`;
  return hasPreBuiltLabel(build) || conditionIn(build, 'Succeeded') === 'True'
    ? undefined
    : `build ${name} is not finished`;
}

/** Whether the label of a build marks its image as built before. */
export const hasPreBuiltLabel = ({ metadata: { labels } }: KubeObject): boolean =>
  labels?.[keyOf('pre-built-image')] === 'true';

function rollOut(view: PoolView, image: string): readonly ControllerAction[] {
  if (isHeld(view)) return [];
  const [node] = view.nodes.filter((one) => annotation(one, 'desiredImage') !== image);
  return node === undefined ? [] : [{ kind: 'roll-out', node: node.metadata.name, image }];
}

/** Whether no node may get a new desired state now. */
const isHeld = ({ pool, nodes }: PoolView): boolean => isPaused(pool) || !nodes.every(isAtRest);

/** Whether a node has the condition Ready. */
export const isReady = (node: KubeObject): boolean => conditionIn(node, 'Ready') === 'True';

/** Whether the daemon of a node has finished all its work. */
const isAtRest = (node: KubeObject): boolean =>
  isReady(node) &&
  annotation(node, 'state') === 'Done' &&
  annotation(node, 'currentConfig') === annotation(node, 'desiredConfig') &&
  annotation(node, 'currentImage') === annotation(node, 'desiredImage');

/** The status of a pool, without its times. */
export interface PoolStatus {
  readonly configuration: unknown;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly readyMachineCount: number;
  readonly unavailableMachineCount: number;
  readonly degradedMachineCount: number;
  readonly conditions: readonly { readonly type: string; readonly status: 'True' | 'False' }[];
}

/** The node controller's status of a rendered pool. */
export function poolStatus(view: PoolView): PoolStatus {
  const { nodes, osConfig } = view;
  const image = imageOf(osConfig);
  const isLayered = osConfig !== undefined;
  const isUpdated = (node: KubeObject): boolean =>
    isAtRest(node) &&
    annotation(node, 'currentConfig') === renderedOf(view) &&
    annotation(node, 'currentImage') === image &&
    (!isLayered || image !== '');
  const updated = nodes.filter(isUpdated).length;
  const degraded = nodes.filter((node) => annotation(node, 'state') === 'Degraded').length;
  const waitsForImage = isLayered && (image === '' || whyBuild(view) !== undefined);
  const isAllUpdated = updated === nodes.length && !waitsForImage;
  return {
    configuration: (view.pool as { spec?: { configuration?: unknown } }).spec?.configuration,
    machineCount: nodes.length,
    updatedMachineCount: updated,
    readyMachineCount: updated,
    unavailableMachineCount: nodes.filter((node) => !isAvailable(node)).length,
    degradedMachineCount: degraded,
    conditions: [
      condition('Updated', isAllUpdated),
      condition('Updating', !isAllUpdated && !isPaused(view.pool)),
      condition('Degraded', degraded > 0),
      condition('NodeDegraded', degraded > 0),
      condition('RenderDegraded', false),
      ...(isLayered ? [condition('ImageBuildDegraded', false)] : []),
    ],
  };
}

const isAvailable = (node: KubeObject): boolean =>
  isReady(node) && annotation(node, 'state') === 'Done';

const condition = (type: string, isTrue: boolean): PoolStatus['conditions'][number] => ({
  type,
  status: isTrue ? 'True' : 'False',
});

// Writes of the Machine Config Operator's controllers after a decision.

/** Namespace of the builder's jobs. */
export const operatorNamespace = 'openshift-machine-config-operator';

/** An action, and the objects behind the decision. */
interface Doing {
  readonly layered: LayeredSite;
  readonly action: ControllerAction;
  readonly view: PoolView;
  /** Every node of the cluster. */
  readonly nodes: readonly KubeObject[];
}

/**
 * Performs a controller's action on the API server; an action that must never be necessary is an
 * incident.
 */
export async function applyControllerAction(
  work: ClusterWork,
  { layered, action, view, nodes }: Doing,
): Promise<void> {
  const { client } = work.kube;
  switch (action.kind) {
    case 'take-image':
      layered.incidents.push(
        `the image was taken off node ${action.node}, whose pool nobody layered`,
      );
      await client.merge(nodeRef(action.node), desiredImage(null));
      return;
    case 'roll-out':
      layered.incidents.push(...wrongWithRollOut(view.pool.metadata.name, nodes));
      await client.merge(nodeRef(action.node), desiredImage(action.image));
      return;
    case 'start-build':
      if (layered.plan.fallsBack !== true) {
        layered.incidents.push(`the cluster builds for pool ${action.pool}: ${action.because}`);
      }
      await client.create(kinds.Job, buildJob(`${action.pool}-${view.pool.metadata.uid ?? ''}`));
      return;
    case 'start-job':
      await client.create(kinds.Job, buildJob(action.build));
      return;
  }
}

/** The number of masters that keep a quorum while one of them is away. */
const QUORUM_AND_ONE = 3;

const isMaster = (node: KubeObject): boolean => hasRole(node, 'master') || hasRole(node, 'arbiter');

/**
 * Reasons why the operator, which restarts nodes, must not roll out to a pool yet; empty when it
 * may.
 */
export function wrongWithRollOut(pool: string, nodes: readonly KubeObject[]): readonly string[] {
  const ready = nodes.filter((node) => isMaster(node) && isReady(node)).length;
  return pool === 'master' && ready < QUORUM_AND_ONE
    ? [`the roll-out of pool ${pool} began although of the masters only ${ready} were Ready`]
    : [];
}

const nodeRef = (name: string) => ({ kind: kinds.Node, name });

const desiredImage = (image: string | null): object => ({
  metadata: { annotations: { [keyOf('desiredImage')]: image } },
});

const buildJob = (build: string): KubeObject => objectIn('build-job', { build });

// The queues of the Machine Config Operator, which decide when its controllers act on an object. As
// seen with the real ones of 4.23.

/** Objects of the API server. */
export interface OperatorObjects {
  readonly pools: readonly KubeObject[];
  readonly osConfigs: readonly KubeObject[];
  readonly builds: readonly KubeObject[];
  readonly nodes: readonly KubeObject[];
  readonly jobs: readonly KubeObject[];
}

/**
 * The queues of an operator that has just started; its builder starts with the first
 * MachineOSConfig.
 */
export function operatorQueues() {
  const wakesAt = new Map<string, number>();
  const orderedAt = new Map<string, number>();
  const cameAt = new Map<string, { readonly at: number; readonly object: KubeObject }>();

  const begun = new Set<string>();

  /**
   * The node controller delays a pool that is not rendered, from its first event on: a rendering
   * does not end the delay.
   */
  const isDue = (pool: KubeObject, now: number): boolean => {
    const { name } = pool.metadata;
    const wakes = wakesAt.get(name) ?? now + ACTS_AFTER_MILLIS;
    const isRendered = textIn(pool, 'spec', 'configuration', 'name') !== '';
    wakesAt.set(name, now >= wakes && !isRendered ? now + ACTS_AFTER_MILLIS : wakes);
    return now >= wakes && isRendered;
  };

  /**
   * The builder only compares the builds that exist at its start; later ones wait in its queue as
   * they arrived.
   */
  const pickedUp = (builds: readonly KubeObject[], now: number): readonly KubeObject[] => {
    const started = Math.min(...orderedAt.values());
    const due = builds.filter((build) => {
      const { name, uid = '' } = build.metadata;
      const came = cameAt.get(uid) ?? { at: now, object: build };
      cameAt.set(uid, came);
      const isKnown = hasPreBuiltLabel(came.object);
      const isOver = came.at <= started || now - came.at < ACTS_AFTER_MILLIS || begun.has(name);
      return !isOver && !isKnown;
    });
    // A build that left the queue does not return to it, not even when its job is removed.
    for (const { metadata } of due) begun.add(metadata.name);
    return due;
  };

  return {
    /** The pools in the view of the controllers at a time, in milliseconds. */
    viewsAt: (
      now: number,
      { pools, osConfigs, builds, nodes, jobs }: OperatorObjects,
    ): readonly PoolView[] => {
      const picked = pickedUp(builds, now);
      const ofPool = (all: readonly KubeObject[], pool: string): readonly string[] =>
        all
          .filter((build) => textIn(build, 'spec', 'machineOSConfig', 'name') === pool)
          .map(({ metadata }) => metadata.name);
      return pools.map((pool) => {
        const { name } = pool.metadata;
        const osConfig = osConfigs.find(({ metadata }) => metadata.name === name);
        if (osConfig !== undefined && !orderedAt.has(name)) orderedAt.set(name, now);
        return {
          pool,
          isDue: isDue(pool, now),
          osConfig,
          orderedForMillis: osConfig === undefined ? 0 : now - (orderedAt.get(name) ?? now),
          builds,
          pickedUp: ofPool(picked, name),
          nodes: nodes.filter((node) => hasRole(node, name)),
          jobs: jobs.map(({ metadata }) => metadata.name),
        };
      });
    },
  };
}
