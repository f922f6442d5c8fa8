import { jobs, machineConfigs } from '../../cluster/kinds.ts';
import { partOf } from '../../layering/api/cluster-object.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { poolSnapshot } from '../../layering/hand-over/pool-status.ts';
import { type PlannedBuild, plannedBuild } from '../../layering/roll-out/build-inputs.ts';
import type { Millis } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, gapAmong, together } from '../cluster/kube-watch.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { buildApp } from './build-job.ts';
import type { ApiWrite, BuildWork } from './build-writes.ts';
import { nextBuild } from './next-build.ts';
import { poolEvent } from './pool-event.ts';
import { followedPools, operatorNow, operatorOfPool, type PoolsView } from './pools-view.ts';
import { type NodeControllerScope, nodeControllerStep } from './world.ts';

/**
 * Keeps the image of each layered pool at what its MachineOSConfig and its MachineConfigs say: a MachineOSBuild for each
 * rendered MachineConfig, built by a Job, or with an image that was built from the same. All it knows is in the cluster.
 */
export const buildPoolImages = nodeControllerStep({
  id: 'node-controller/build-images',
  title: 'Build the images of layered pools',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const { kube, clock, config } = scope;
    const { namespace } = config;
    const pools = followedPools(scope);
    const configs = followed(kube, { kind: machineConfigs });
    const builders = followed(kube, { kind: jobs, namespace, labelSelector: `app=${buildApp}` });
    const reported = new Map<string, string>();
    const plan = remembered();
    await reconcile<BuildsSeen, PoolWork>(scope, 'nothing: MachineOSConfigs are watched', {
      watch: together(pools.watch, configs.watch, builders.watch),
      observe: () => {
        const gap = gapAmong(configs, builders);
        return {
          view: gap === undefined ? pools.view() : { gap },
          machineConfigs: configs.view().objects,
          jobs: builders.view().objects,
          ...{ namespace, now: clock.now(), reported, plan },
        };
      },
      decide: buildsDue,
      apply: async ({ pool, work, refused }, signal) => {
        if (refused !== undefined) {
          reported.set(pool, refused);
          if (refused === '') return;
          scope.note('warn', `pool ${pool}: ${refused}`);
          const event = { pool, type: 'Warning', reason: 'OSBuildRefused' } as const;
          await poolEvent(scope, { ...event, message: refused }, signal);
          return;
        }
        if (work === undefined || (await operatorNow(scope, [], signal)) !== undefined) return;
        await carryOut(scope, { pool, work }, signal);
      },
    });
  },
});

interface BuildsSeen {
  readonly view: PoolsView | { readonly gap: string };
  readonly machineConfigs: readonly KubeObject[];
  readonly jobs: readonly KubeObject[];
  readonly namespace: string;
  readonly now: Millis;
  /** Why a pool could have no build, as it was reported last; empty once it could. */
  readonly reported: ReadonlyMap<string, string>;
  readonly plan: typeof plannedBuild;
}

interface PoolWork extends Action {
  readonly pool: string;
  readonly work?: BuildWork;
  /** Why the pool can have no build. */
  readonly refused?: string;
}

/** What is to be done for the images of pools that the operator does not run. */
export function buildsDue(seen: BuildsSeen): Decision<PoolWork> {
  const { view, reported } = seen;
  if ('gap' in view) return { actions: [], missing: view.gap };
  const own = view.pools.filter(
    ({ metadata: { name, deletionTimestamp } }) =>
      deletionTimestamp === undefined && operatorOfPool(name, view) === undefined,
  );
  const next = own.map((pool) => ({ pool: pool.metadata.name, ...nextOfPool(pool, view, seen) }));
  const actions = next.flatMap(({ pool, ...found }): readonly PoolWork[] => {
    const key = `image of pool ${pool}`;
    if ('what' in found) return [{ key, pool, work: found }];
    const refused = found.waitsFor.startsWith('no build: ') ? found.waitsFor : '';
    return (reported.get(pool) ?? '') === refused ? [] : [{ key, pool, refused }];
  });
  const waiting = next.flatMap((one) =>
    'waitsFor' in one && one.waitsFor !== '' ? [`pool ${one.pool}: ${one.waitsFor}`] : [],
  );
  return {
    actions,
    missing: waiting.length === 0 ? 'every layered pool has its image' : waiting.join('; '),
  };
}

function nextOfPool(
  pool: KubeObject,
  view: PoolsView,
  { machineConfigs: all, jobs: builders, namespace, now, plan }: BuildsSeen,
): ReturnType<typeof nextBuild> {
  const snapshot = poolSnapshot(pool.metadata.name, { ...view, jobs: builders });
  const rendered = renderedNameOf(pool);
  const machineConfig = all.find(({ metadata }) => metadata.name === rendered);
  const { pods } = view.operator;
  return nextBuild({ snapshot, machineConfig, pods, namespace, now }, (found, osConfig) =>
    plan({ machineConfigPool: pool, osConfig, machineConfig: found }),
  );
}

async function carryOut(
  scope: NodeControllerScope<'kube' | 'clock'>,
  { pool, work }: { readonly pool: string; readonly work: BuildWork },
  signal: AbortSignal,
): Promise<void> {
  const { what, writes, event, isFailure, ifRefused } = work;
  try {
    for (const write of writes) await send(scope, write, signal);
  } catch (error) {
    const isInvalid = error instanceof AgentError && error.code === 'kube.invalid';
    if (!isInvalid || ifRefused === undefined) throw error;
    const refused: BuildWork = {
      ...{ what: `${what}: ${error.message}`, writes: [ifRefused(error.message)] },
      ...{ event: 'OSBuildFailed', isFailure: true },
    };
    return carryOut(scope, { pool, work: refused }, signal);
  }
  const level = isFailure === true ? 'warn' : 'info';
  scope.note(level, `pool ${pool}: ${what}`);
  if (event === undefined) return;
  const type = isFailure === true ? 'Warning' : 'Normal';
  await poolEvent(scope, { pool, type, reason: event, message: what }, signal);
}

async function send(
  { kube }: NodeControllerScope<'kube'>,
  write: ApiWrite,
  signal: AbortSignal,
): Promise<void> {
  if ('remove' in write) return kube.remove(write.remove, signal);
  if ('patch' in write) {
    await kube.patch(write.ref, write.patch, signal);
    return;
  }
  const { kind, create, mayExist } = write;
  const { namespace } = create.metadata;
  const place = { kind, ...(namespace === undefined ? {} : { namespace }) };
  try {
    await kube.create(place, create, signal);
  } catch (error) {
    const isThere = error instanceof AgentError && error.code === 'kube.conflict';
    if (!isThere || mayExist !== true) throw error;
  }
}

/** Plans only what has changed: nodes report each few seconds, and a MachineConfig may have a megabyte. */
function remembered(): typeof plannedBuild {
  const last = new Map<string, { readonly from: string; readonly planned: PlannedBuild }>();
  return (objects) => {
    const { machineConfigPool, osConfig, machineConfig } = objects;
    const from = JSON.stringify([
      partOf(machineConfigPool, 'spec', 'configuration'),
      [osConfig.metadata.uid, osConfig['spec']],
      [machineConfig.metadata.name, machineConfig.metadata.resourceVersion],
    ]);
    const known = last.get(machineConfigPool.metadata.name);
    if (known?.from === from) return known.planned;
    const planned = plannedBuild(objects);
    last.set(machineConfigPool.metadata.name, { from, planned });
    return planned;
  };
}
