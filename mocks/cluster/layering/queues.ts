// The queues of the Machine Config Operator: when its controllers come round to what they have
// seen. As seen with the real ones of 4.23.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { hasRole, textIn } from '../../layering/objects.ts';
import { ACTS_AFTER_MILLIS, hasPreBuiltLabel, type PoolView } from './controllers.ts';

/** What the API server has. */
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
   * The node controller sleeps over a pool that is not rendered, from when it sees it: a rendering
   * does not end the sleep.
   */
  const isDue = (pool: KubeObject, now: number): boolean => {
    const { name } = pool.metadata;
    const wakes = wakesAt.get(name) ?? now + ACTS_AFTER_MILLIS;
    const isRendered = textIn(pool, 'spec', 'configuration', 'name') !== '';
    wakesAt.set(name, now >= wakes && !isRendered ? now + ACTS_AFTER_MILLIS : wakes);
    return now >= wakes && isRendered;
  };

  /**
   * What the builder found when it started is only compared; what comes later waits in its queue as
   * it came.
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
    // What left the queue once does not come again, not even for a job that somebody removed.
    for (const { metadata } of due) begun.add(metadata.name);
    return due;
  };

  return {
    /** The pools as its controllers see them at a time, in milliseconds. */
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
