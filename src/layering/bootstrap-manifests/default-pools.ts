import { namesOf } from './documents.ts';
import type { OsManifests } from './read.ts';

/** Pools that every cluster has; a pool of workers without a member may have its image all the same. */
const pools = ['master', 'worker'] as const;

/** The pools of every cluster that no MachineOSConfig among the manifests is for. */
export function poolsWithoutConfig({
  osConfigs,
}: Pick<OsManifests, 'osConfigs'>): readonly string[] {
  const named = osConfigs.map(({ object }) => namesOf(object.value).name);
  return pools.filter((pool) => !named.includes(pool));
}
