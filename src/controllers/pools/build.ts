import { partOf } from '../../layering/api/cluster-object.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { type PlannedBuild, plannedBuild } from '../../layering/roll-out/build-inputs.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { type Action, performActions } from '../../reconcile/actions.ts';
import type { Controller } from '../../reconcile/manager.ts';
import type { ApiWrite, BuildWork, NextBuild } from './build-writes.ts';
import { nextBuild } from './next-build.ts';
import {
  isOperatedNow,
  operatorOf,
  poolEvent,
  type PoolScope,
  type PoolStores,
  type PoolView,
  poolWarnings,
  readView,
  rememberedByPool,
  storedView,
} from './stores.ts';
import { isConflict } from '../../ports/kube-failures.ts';

interface BuildAction extends Action {
  readonly type: 'build';
  readonly work: BuildWork;
}

/**
 * Keeps the image of a layered pool at what its MachineOSConfig and its MachineConfigs say: a MachineOSBuild for each
 * rendered MachineConfig, built by a Job, or with an image that was built from the same. All it knows is in the cluster.
 */
export function buildController(
  scope: PoolScope,
  { stores }: { readonly stores: PoolStores },
): Pick<Controller, 'reconcile'> {
  const { clock } = scope;
  const warnOfPool = poolWarnings(scope);
  const missing = missingSince(scope);
  const plan = rememberedPlan();
  const nextOf = (view: PoolView): NextBuild =>
    missing.during(view.snapshot.pool, (missingFor) => nextIn(view, missingFor));
  const nextIn = ({ snapshot }: PoolView, missingFor: (what: string) => Millis): NextBuild => {
    const { machineConfigPool: pool } = snapshot;
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined)
      return { waitsFor: '' };
    const machineConfig = stores.machineConfigs.get(renderedNameOf(pool));
    const { namespace } = scope;
    const pods = stores.pods.all();
    const now = clock.now();
    return nextBuild(
      { snapshot, machineConfig, pods, namespace, now, missingFor },
      (found, osConfig) => plan({ machineConfigPool: pool, osConfig, machineConfig: found }),
    );
  };
  const decide = (view: PoolView): readonly BuildAction[] => {
    const next = nextOf(view);
    return 'what' in next ? [{ type: 'build', target: next.what, work: next }] : [];
  };
  return {
    reconcile: async (pool, signal) => {
      const seen = storedView(pool, stores);
      if (operatorOf(seen.snapshot.nodes, stores, scope) !== undefined) return {};
      const next = nextOf(seen);
      const refusal = 'isRefused' in next ? next.waitsFor : '';
      await warnOfPool(pool, { reason: 'OSBuildRefused', message: refusal }, signal);
      if ('waitsFor' in next) {
        const after = { after: seconds(30) };
        return next.waitsFor === ''
          ? after
          : { ...after, status: `pool ${pool}: ${next.waitsFor}` };
      }
      const readAgain = async (): Promise<PoolView | undefined> =>
        (await isOperatedNow(scope, [], signal)) ? undefined : readView(scope, pool, signal);
      const build = ({ work }: BuildAction): Promise<void> =>
        carryOut(scope, { pool, work }, signal);
      await performActions({ seen, decide, readAgain, table: { build } }, signal);
      return {};
    },
  };
}

async function carryOut(
  scope: PoolScope,
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
  scope.note(isFailure === true ? 'warn' : 'info', `pool ${pool}: ${what}`);
  if (event === undefined) return;
  const type = isFailure === true ? 'Warning' : 'Normal';
  await poolEvent(scope, pool, { type, reason: event, message: what })(signal);
}

async function send({ kube }: PoolScope, write: ApiWrite, signal: AbortSignal): Promise<void> {
  if ('remove' in write) return kube.remove(write.remove, signal);
  if ('patch' in write) {
    await kube.patch(write.ref, write.patch, signal);
    return;
  }
  const { kind, create, mayExist } = write;
  const place = { kind, namespace: create.metadata.namespace };
  try {
    await kube.create(place, create, signal);
  } catch (error) {
    if (!isConflict(error) || mayExist !== true) throw error;
  }
}

/** Since when something of a pool has been missing, by a clock that nobody sets; what is asked for no longer is forgotten. */
function missingSince({ clock }: Pick<PoolScope, 'clock'>) {
  const pools = new Map<string, ReadonlyMap<string, Millis>>();
  return {
    during: <T>(pool: string, decide: (missingFor: (what: string) => Millis) => T): T => {
      const before = pools.get(pool);
      const asked = new Map<string, Millis>();
      const decided = decide((what) => {
        const since = before?.get(what) ?? clock.elapsed();
        asked.set(what, since);
        return clock.elapsed() - since;
      });
      if (asked.size === 0) pools.delete(pool);
      else pools.set(pool, asked);
      return decided;
    },
  };
}

/** Plans only what has changed. */
function rememberedPlan(): typeof plannedBuild {
  const remembered = rememberedByPool<PlannedBuild>();
  return (objects) => {
    const { machineConfigPool, osConfig, machineConfig } = objects;
    const from = JSON.stringify([
      partOf(machineConfigPool, 'spec', 'configuration'),
      [osConfig.metadata.uid, osConfig['spec']],
      [machineConfig.metadata.name, machineConfig.metadata.resourceVersion],
    ]);
    return remembered(machineConfigPool, from, () => plannedBuild(objects));
  };
}
