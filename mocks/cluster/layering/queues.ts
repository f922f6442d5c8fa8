// The queues of the Machine Config Operator, which decide when its controllers act on an object. As
// seen with the real ones of 4.23.
import type { KubeObject } from '../../../src/ports/kube.ts';
import { hasRole, textIn } from '../../layering/objects.ts';
import { ACTS_AFTER_MILLIS, hasPreBuiltLabel, type PoolView } from './controllers.ts';

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
