import { type Millis, renderDuration } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, partOf, textAt } from '../../kube/object.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { isPaused, pausedSince } from '../api/machine-config-pool.ts';
import {
  imageOrigin,
  type ImageOrigin,
  unfinishedBuild,
  type UnfinishedBuild,
} from './image-origin.ts';
import {
  type ClusterSnapshot,
  nodeImageStatus,
  type NodeImageStatus,
  type PoolStatus,
  poolSnapshot,
  poolStatus,
} from '../hand-over/pool-status.ts';
import type { PoolSnapshot } from '../hand-over/invariants.ts';
import { drainBlockers, isDraining, requestOf } from './blocked-drain.ts';
import {
  desiredOf,
  hasDesired,
  isCordoned,
  isDegraded,
  isSameTarget,
  maxUnavailable,
  ownLimit,
  unavailableReason,
} from './node-state.ts';
import { operatorReason, type OperatorObjects } from './ownership.ts';
import { rollOutTarget, type TargetStatus } from './target.ts';

/** All objects that explain the progress of roll-outs. */
export interface RollOutSnapshot extends ClusterSnapshot {
  readonly operator: OperatorObjects;
  /** The lease of `bootwright node controller`. */
  readonly lease: KubeObject | undefined;
  /** The pods of nodes with a drain in progress. */
  readonly pods: readonly KubeObject[];
  /** PodDisruptionBudgets. */
  readonly budgets: readonly KubeObject[];
  /** Time of the reading, in milliseconds since 1970. */
  readonly now: Millis;
}

/** A node, and the reason why it is not done; empty for a node that is done. */
export interface NodeProgress extends NodeImageStatus {
  readonly waitsFor: string;
}

/** Whether a node waits for pods whose eviction a budget forbids. */
const isDrainBlocked = (node: KubeObject, cluster: RollOutSnapshot): boolean =>
  !isDegraded(node) && isDraining(node) && drainBlockers(node.metadata.name, cluster).length > 0;

/** The program that rolls out to a pool. */
export interface PoolRunner {
  /** `machine-config-operator`, `bootwright`, or empty where neither is seen. */
  readonly by: string;
  readonly why: string;
}

/** Progress of a pool, for people. */
export interface PoolProgress extends PoolStatus {
  readonly runner: PoolRunner;
  /** Origin of the image; undefined without an image. */
  readonly origin: ImageOrigin | undefined;
  /** The build of the next image; undefined where none is awaited. */
  readonly nextBuild: UnfinishedBuild | undefined;
  readonly nodes: readonly NodeProgress[];
  /** Actions for a person, one sentence each. */
  readonly actions: readonly string[];
}

/** Explains one pool. */
export function poolProgress(pool: string, cluster: RollOutSnapshot): PoolProgress {
  const status = poolStatus(pool, cluster);
  const snapshot = poolSnapshot(pool, cluster);
  const runner = runnerOf(snapshot, cluster);
  const origin = imageOrigin(snapshot, status.image);
  const nextBuild = unfinishedBuild(snapshot, cluster.operator.pods);
  const seen = { cluster, snapshot, status, runner, found: rollOutTarget(snapshot), nextBuild };
  const nodes = snapshot.nodes.map((node) => ({
    ...nodeImageStatus(node),
    waitsFor: waitOf(node, seen),
  }));
  const progress = { ...status, runner, origin, nextBuild, nodes };
  const blocked = snapshot.nodes.filter((node) => isDrainBlocked(node, cluster));
  return { ...progress, actions: actionsOf(progress, snapshot, blocked) };
}

/** Number of missed renewals after which a lease counts as released. */
const missedLeases = 2;

function runnerOf({ nodes }: PoolSnapshot, { operator, lease, now }: RollOutSnapshot): PoolRunner {
  const why = operatorReason(operator, nodes);
  if (why !== undefined) return { by: 'machine-config-operator', why };
  const holder = textAt(lease, 'spec', 'holderIdentity');
  if (holder === '')
    return { by: '', why: 'neither the operator nor bootwright node controller is there' };
  const age = ageOf(textAt(lease, 'spec', 'renewTime'), now);
  const duration = partOf(lease, 'spec', 'leaseDurationSeconds');
  const limit = (typeof duration === 'number' ? duration : 0) * 1000 * missedLeases;
  return age !== undefined && age <= limit
    ? { by: 'bootwright', why: `${holder} holds the lease bootwright-node-controller` }
    : { by: '', why: 'the lease bootwright-node-controller is no longer renewed' };
}

/** Time since a timestamp of the API; undefined without one. Clocks may differ: never negative. */
function ageOf(moment: string, now: Millis): Millis | undefined {
  const at = Date.parse(moment);
  return Number.isNaN(at) ? undefined : Math.max(0, now - at);
}

const forTime = (moment: string, now: Millis): string => {
  const age = ageOf(moment, now);
  return age === undefined ? '' : ` for ${renderDuration(age)}`;
};

interface PoolFacts {
  readonly cluster: RollOutSnapshot;
  readonly snapshot: PoolSnapshot;
  readonly status: PoolStatus;
  readonly runner: PoolRunner;
  readonly found: TargetStatus;
  readonly nextBuild: UnfinishedBuild | undefined;
}

/** The condition that a node waits for; empty when it is done. */
function waitOf(node: KubeObject, seen: PoolFacts): string {
  const { cluster, found } = seen;
  const at = (key: keyof typeof nodeKeys): string => annotationOf(node, nodeKeys[key]);
  if (isDegraded(node)) return at('reason') === '' ? 'a reason is not given' : at('reason');
  const isDesired = 'target' in found && isSameTarget(desiredOf(node), found.target);
  const isAtWork = !hasDesired(node) || at('state') === 'Working';
  if (isDraining(node)) return drainText(node, cluster);
  if (conditionOf(node, 'Ready').status !== 'True')
    return `not Ready${forTime(conditionOf(node, 'Ready').since, cluster.now)}`;
  if (isAtWork) return workText(node);
  if (requestOf(node).startsWith('uncordon-')) return 'to be uncordoned';
  return isDesired && seen.nextBuild === undefined ? cordonText(node) : turnText(node, seen);
}

const cordonText = (node: KubeObject): string => (isCordoned(node) ? 'cordoned by somebody' : '');

function drainText(node: KubeObject, cluster: RollOutSnapshot): string {
  const [first, ...others] = drainBlockers(node.metadata.name, cluster);
  if (first === undefined) return 'being drained';
  const pods = others.length === 1 ? 'pod' : 'pods';
  const more = others.length === 0 ? '' : `, and ${others.length} more ${pods}`;
  return `drain blocked: pod ${first.pod} by budget ${first.budget}${more}`;
}

function workText(node: KubeObject): string {
  const at = (key: keyof typeof nodeKeys): string => annotationOf(node, nodeKeys[key]);
  if (at('desiredDrain').startsWith('drain-')) return 'drained; being changed';
  const reason = at('reason');
  if (at('state') !== 'Working') return 'chosen; its agent has not begun';
  return reason === '' ? 'at work' : reason;
}

/** The reason why an idle node has not got the target of the pool. */
function turnText(
  node: KubeObject,
  { status, snapshot, nextBuild, found, runner }: PoolFacts,
): string {
  if (nextBuild !== undefined) return `MachineOSBuild ${nextBuild.name}: ${nextBuild.phase}`;
  if ('waitsFor' in found) return found.waitsFor;
  if (status.isPaused) return 'the pool is paused';
  const busy = snapshot.nodes
    .filter((other) => unavailableReason(other) !== undefined)
    .map(({ metadata }) => metadata.name);
  const limitOf = runner.by === 'machine-config-operator' ? maxUnavailable : ownLimit;
  const limit = limitOf(snapshot.machineConfigPool, snapshot.nodes.length);
  if (busy.length >= limit && !busy.includes(node.metadata.name)) {
    return `maxUnavailable ${limit}: first ${shortList(busy)}`;
  }
  return cordonText(node) || 'to be chosen';
}

const mostNames = 3;

const shortList = (names: readonly string[]): string =>
  names.length <= mostNames
    ? names.join(', ')
    : `${names.slice(0, mostNames).join(', ')} and ${names.length - mostNames} more`;

function actionsOf(
  progress: Omit<PoolProgress, 'actions'>,
  { nodes, machineConfigPool }: PoolSnapshot,
  blocked: readonly KubeObject[],
): readonly string[] {
  const { pool, isLayered, runner, nextBuild } = progress;
  const waiting = progress.nodes.filter(({ waitsFor }) => waitsFor !== '');
  if (!isLayered && waiting.length === 0) return unpauseAdvice(machineConfigPool, false);
  const degraded = nodes.filter((node) => isDegraded(node)).map(({ metadata }) => metadata.name);
  return [
    ...(runner.by === '' && (waiting.length > 0 || nextBuild !== undefined)
      ? [`no controller rolls out to pool ${pool}: ${runner.why}`]
      : []),
    ...(nextBuild?.isOver === true
      ? [
          `see why MachineOSBuild ${nextBuild.name} ended with ${nextBuild.phase}, then correct MachineOSConfig ${pool}`,
        ]
      : []),
    ...(degraded.length > 0
      ? [`correct what degrades ${shortList(degraded)}: no other node begins before`]
      : []),
    ...(blocked.length > 0
      ? [
          `let ${shortList(blocked.map(({ metadata: { name } }) => name))} be drained: run more replicas of what the budget protects, or delete the pod`,
        ]
      : []),
    ...unpauseAdvice(machineConfigPool, waiting.length > 0),
  ];
}

/**
 * The pause of a hand-over may be the only protection of the images on nodes: `layer unpause`
 * checks that before it ends a pause.
 */
function unpauseAdvice(pool: KubeObject | undefined, isWaitedFor: boolean): readonly string[] {
  if (pool === undefined || !isPaused(pool)) return [];
  const { name } = pool.metadata;
  if (pausedSince(pool, 'handOver') !== '')
    return [
      `run the installation again, which has paused the pool, or: bootwright layer unpause --kubeconfig FILE --pool ${name}`,
    ];
  return isWaitedFor
    ? [
        `unpause the pool: oc patch machineconfigpool/${name} --type merge -p '{"spec":{"paused":false}}'`,
      ]
    : [];
}
