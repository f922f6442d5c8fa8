import { isDeepStrictEqual } from 'node:util';
import type { Millis } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import {
  annotationOf,
  conditionOf,
  countAt,
  listAt,
  nodeKeys,
  partOf,
  textAt,
} from '../api/cluster-object.ts';
import { renderedNameOf } from '../api/machine-config-pool.ts';
import { type Fields, fieldsOf, isFields, type Value } from '../api/schema.ts';
import { currentBuild, type PoolSnapshot } from '../hand-over/invariants.ts';
import { phaseOf } from '../hand-over/pool-status.ts';
import { isSetAside } from './image-origin.ts';
import { desiredOf, isDegraded, isDone, isSameTarget, unreadyReason } from './node-state.ts';
import { type RollOutTarget, rollOutTarget } from './target.ts';

/** A pool, and what its objects do not say. */
export interface StatusInput {
  readonly snapshot: PoolSnapshot;
  /** Why its MachineConfigs could not be rendered; empty where they could. */
  readonly renderFailure: string;
  readonly now: Millis;
}

interface Condition extends Readonly<Record<string, string>> {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

const condition = (
  type: string,
  is: boolean,
  { message = '', reason = '' }: { readonly message?: string; readonly reason?: string } = {},
): Condition => ({ type, status: is ? 'True' : 'False', reason, message });

/**
 * A merge patch of what in the status of a MachineConfigPool is another than it should be, by the rules of the Machine Config Operator
 * (`pkg/controller/node/status.go`); undefined where nothing is. Certificates and pinned images are left out: nobody
 * rolls those out here.
 */
export function writtenStatus(input: StatusInput): Fields | undefined {
  const pool = input.snapshot.machineConfigPool;
  if (pool === undefined) return undefined;
  const wanted = wantedStatus(pool, input);
  const changed = Object.entries(wanted).filter(
    ([key, value]) => !isDeepStrictEqual(partOf(pool, 'status', key), value),
  );
  const patch = changed.map(([key, value]) => [key, inPlaceOf(partOf(pool, 'status', key), value)]);
  return changed.length === 0 ? undefined : (Object.fromEntries(patch) as Fields);
}

/** A merge patch keeps what it does not name. */
const inPlaceOf = (before: unknown, value: Value): Value =>
  isFields(value)
    ? {
        ...Object.fromEntries(Object.keys(fieldsOf(before)).map((key) => [key, null])),
        ...value,
      }
    : value;

function wantedStatus(pool: KubeObject, input: StatusInput): Fields {
  const { snapshot, renderFailure, now } = input;
  const rendered = renderedNameOf(pool);
  const renderCondition = condition('RenderDegraded', renderFailure !== '', {
    message:
      renderFailure === ''
        ? ''
        : `Failed to render configuration for pool ${pool.metadata.name}: ${renderFailure}`,
  });
  const held = listAt(pool, 'status', 'conditions').map(fieldsOf);
  const conditions = (all: readonly Condition[]): Fields => ({
    conditions: all.reduce<readonly Fields[]>((list, one) => withCondition(list, one, now), held),
  });
  // The operator counts no nodes of a pool without a configuration.
  if (rendered === '') return conditions([renderCondition]);
  const { nodes } = snapshot;
  const target = targetOf(snapshot);
  const updated = nodes.filter(
    (node) => target !== undefined && isDone(node) && isSameTarget(desiredOf(node), target),
  );
  const counts = {
    machineCount: nodes.length,
    updatedMachineCount: updated.length,
    readyMachineCount: updated.filter((node) => unreadyReason(node) === undefined).length,
    unavailableMachineCount: nodes.filter((node) => isUnavailable(node)).length,
    degradedMachineCount: nodes.filter((node) => isDegraded(node)).length,
  };
  const isAllUpdated =
    counts.updatedMachineCount === nodes.length &&
    counts.readyMachineCount === nodes.length &&
    counts.unavailableMachineCount === 0 &&
    !awaitsBuild(snapshot);
  const nodesDegraded = nodeCondition(nodes);
  const isHeldUp = renderCondition.status === 'True' || nodesDegraded.status === 'True';
  const built = buildCondition(snapshot);
  const line = lineOf(snapshot, target);
  return {
    observedGeneration: countAt(pool, 'metadata', 'generation'),
    ...counts,
    // After a rollback the nodes have another configuration than that of the pool.
    ...(isAllUpdated && target?.config === rendered
      ? { configuration: partOf(pool, 'spec', 'configuration') as Value }
      : {}),
    ...conditions([
      renderCondition,
      condition('Updated', isAllUpdated, {
        message: isAllUpdated ? `All nodes are updated with ${line}` : '',
      }),
      updatingCondition(snapshot, { isAllUpdated, isHeldUp, line }),
      nodesDegraded,
      ...(built === undefined ? [] : [built]),
      degradedCondition(pool, isHeldUp, [nodesDegraded, built]),
    ]),
  };
}

/** A list with a condition in it; one whose status stays keeps its time (machine-config-operator, `apihelpers`). */
function withCondition(list: readonly Fields[], one: Condition, now: Millis): readonly Fields[] {
  const before = list.find(({ type }) => type === one.type);
  const isSame = (['status', 'reason', 'message'] as const).every(
    (key) => (before?.[key] ?? '') === one[key],
  );
  if (isSame) return list;
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  const lastTransitionTime =
    before?.['status'] === one.status ? (before['lastTransitionTime'] ?? time) : time;
  return [...list.filter(({ type }) => type !== one.type), { ...one, lastTransitionTime }];
}

/** What nodes have that are up to date, also while an image is built that they will have then. */
function targetOf(snapshot: PoolSnapshot): RollOutTarget | undefined {
  const { osConfig, machineConfigPool } = snapshot;
  const found = rollOutTarget(snapshot);
  if ('target' in found) return found.target;
  const build = currentBuild(snapshot);
  const config = renderedNameOf(machineConfigPool);
  const image = textAt(osConfig, 'status', 'currentImagePullSpec');
  const isOfBuild = textAt(build, 'spec', 'machineConfig', 'name') === config;
  return isSetAside(snapshot) || image === '' || !isOfBuild ? undefined : { config, image };
}

const lineOf = (
  { machineConfigPool, osConfig }: PoolSnapshot,
  target: RollOutTarget | undefined,
): string => {
  const config = target?.config ?? renderedNameOf(machineConfigPool);
  const image = target?.image ?? textAt(osConfig, 'status', 'currentImagePullSpec');
  return `MachineConfig ${config}${image === '' ? '' : ` / Image ${image}`}`;
};

/** Nodes are not up to date while their next image is built, or could not be (`isLayeredPoolBuilding`). */
function awaitsBuild(snapshot: PoolSnapshot): boolean {
  const build = currentBuild(snapshot);
  if (build === undefined || isSetAside(snapshot)) return false;
  const phase = phaseOf(build);
  const image = textAt(build, 'status', 'digestedImagePushSpec');
  const current = textAt(snapshot.osConfig, 'status', 'currentImagePullSpec');
  return phase === 'Succeeded'
    ? image !== '' && image !== current
    : ['Prepared', 'Building', 'Failed'].includes(phase);
}

/** A degraded node that is to have something else may be given that: it is not unavailable (`IsUnavailableForUpdate`). */
const isUnavailable = (node: KubeObject): boolean => {
  if (unreadyReason(node) !== undefined) return true;
  const isFailing =
    isDegraded(node) &&
    annotationOf(node, nodeKeys.currentConfig) !== annotationOf(node, nodeKeys.desiredConfig);
  return !isDone(node) && !isFailing;
};

function nodeCondition(nodes: readonly KubeObject[]): Condition {
  const degraded = nodes.filter((node) => isDegraded(node));
  if (degraded.length === 0) return condition('NodeDegraded', false);
  const reports = degraded.map(
    (node) =>
      `Node ${node.metadata.name} is reporting: ${JSON.stringify(annotationOf(node, nodeKeys.reason))}`,
  );
  const reason = `${degraded.length} nodes are reporting degraded status on sync`;
  return condition('NodeDegraded', true, { message: reports.join(', '), reason });
}

interface Updating {
  readonly isAllUpdated: boolean;
  /** Something else than a build is degraded. */
  readonly isHeldUp: boolean;
  readonly line: string;
}

/** What a pool waits for while its build is in a phase. */
const buildTexts: Readonly<Record<string, string>> = {
  'not started': 'Pool is waiting for OS image build to start',
  Prepared: 'Pool is waiting for OS image build to start',
  Building: 'Pool is waiting for OS image build to complete',
  Succeeded: 'Pool is waiting for nodes to apply OS image',
  Failed: 'Pool update stopped due to OS image build failure',
  Interrupted: 'Pool update stopped due to OS image build being interrupted',
};
const pausedTexts: Readonly<Record<string, string>> = {
  'not started': 'OS image build has been created but not yet started',
  Prepared: 'OS image build has been prepared but will not rollout',
  Building: 'OS image build in progress',
  Succeeded: 'OS image build completed successfully',
  Failed: 'OS image build failed',
  Interrupted: 'OS image build was interrupted',
};

function updatingCondition(snapshot: PoolSnapshot, progress: Updating): Condition {
  const { osConfig, machineConfigPool } = snapshot;
  const isPaused = partOf(machineConfigPool, 'spec', 'paused') === true;
  const { isAllUpdated, isHeldUp, line } = progress;
  if (osConfig !== undefined && !isSetAside(snapshot)) {
    const isStopped = isHeldUp && !isPaused;
    return isStopped
      ? condition('Updating', false, { message: 'Pool update paused due to degraded condition' })
      : layeredUpdating(snapshot, { isPaused, isAllUpdated });
  }
  if (isAllUpdated) return condition('Updating', false);
  const message = isPaused
    ? `Pool is paused; will not update to ${line}`
    : `All nodes are updating to ${line}`;
  return condition('Updating', !isPaused, { message });
}

function layeredUpdating(
  snapshot: PoolSnapshot,
  { isPaused, isAllUpdated }: { readonly isPaused: boolean; readonly isAllUpdated: boolean },
): Condition {
  const build = currentBuild(snapshot);
  if (build === undefined) {
    const text = `waiting for a new OS image build to start (mosc: ${snapshot.osConfig?.metadata.name ?? ''})`;
    return condition('Updating', true, { message: `Pool is ${isPaused ? 'paused; ' : ''}${text}` });
  }
  const phase = phaseOf(build);
  const isBuilt = phase === 'Succeeded';
  if (isBuilt && isAllUpdated && !isPaused) return condition('Updating', false);
  const text = isPaused ? `Pool is paused; ${pausedTexts[phase]}` : buildTexts[phase];
  const isGoingOn = !['Failed', 'Interrupted'].includes(phase) && !(isPaused && isBuilt);
  return condition('Updating', isGoingOn, { message: `${text} (mosb: ${build.metadata.name})` });
}

/** Undefined where what is said stays (`updateImageBuildDegradedCondition` and the node controller). */
function buildCondition(snapshot: PoolSnapshot): Condition | undefined {
  const { osConfig, machineConfigPool, pool } = snapshot;
  const of = (is: boolean, reason: string, message: string): Condition =>
    condition('ImageBuildDegraded', is, { reason, message });
  const build = currentBuild(snapshot);
  if (build !== undefined) {
    const phase = phaseOf(build);
    const text = `Failed to build OS image for pool ${pool} (MachineOSBuild: ${build.metadata.name})`;
    if (phase === 'Failed') {
      return of(true, 'BuildFailed', `${text}: ${conditionOf(build, phase).message}`);
    }
    if (phase === 'Succeeded') return of(false, 'BuildSuccess', 'Build completed successfully');
    const isBegun = ['Prepared', 'Building'].includes(phase);
    return isBegun ? of(false, 'Building', 'New build started') : undefined;
  }
  if (conditionOf(machineConfigPool, 'ImageBuildDegraded').status !== 'True') return undefined;
  return osConfig === undefined
    ? of(
        false,
        'NoLayeredObjects',
        'No layered pool objects found, clearing stale build degraded condition',
      )
    : of(false, 'BuildPending', 'MachineOSConfig updated/created, waiting for MachineOSBuild');
}

function degradedCondition(
  pool: KubeObject,
  isHeldUp: boolean,
  [nodesDegraded, built]: readonly [Condition, Condition | undefined],
): Condition {
  const status = built?.status ?? conditionOf(pool, 'ImageBuildDegraded').status;
  const isBuildDegraded = status === 'True';
  const buildText = isBuildDegraded ? 'Custom OS image build failed' : '';
  const message = nodesDegraded.status === 'True' ? nodesDegraded.message : buildText;
  return condition('Degraded', isHeldUp || isBuildDegraded, { message });
}
