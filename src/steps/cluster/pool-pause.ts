import { machineConfigPools } from '../../kube/kinds.ts';
import { isPaused, type PauseChange } from '../../layering/api/machine-config-pool.ts';
import { layeringFailure } from '../../layering/failures.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { isConflict } from '../../ports/kube-failures.ts';

/** Maximum number of attempts when another client changes a pool between our read and our write. */
const mostReadings = 10;

/**
 * Changes the pause of a pool by its state right before the write. The API server refuses the write
 * if another client has changed the pool since: a person may have paused it or adopted our pause.
 * @param which its name, or the pool itself if it was just read
 * @returns the pool afterwards; undefined if it does not exist
 * @throws AgentError `kube.*`, `layering.not-kept`
 */
export async function changePause(
  { kube, signal }: { readonly kube: Pick<Kube, 'get' | 'patch'>; readonly signal: AbortSignal },
  which: string | KubeObject,
  due: (pool: KubeObject) => PauseChange | undefined,
): Promise<KubeObject | undefined> {
  const name = typeof which === 'string' ? which : which.metadata.name;
  const ref = { kind: machineConfigPools, name };
  let pool = typeof which === 'string' ? await kube.get(ref, signal) : which;
  for (let reading = 1; ; reading += 1) {
    const change = pool === undefined ? undefined : due(pool);
    if (pool === undefined || change === undefined) return pool;
    const { resourceVersion } = pool.metadata;
    const body = { ...change, metadata: { ...change.metadata, resourceVersion } };
    try {
      return requireKept(change, await kube.patch(ref, { type: 'merge', body }, signal));
    } catch (error) {
      if (!isConflict(error) || reading === mostReadings) throw error;
    }
    pool = await kube.get(ref, signal);
  }
}

function requireKept({ metadata, spec }: PauseChange, kept: KubeObject): KubeObject {
  const there = kept.metadata.annotations ?? {};
  const isThere = Object.entries(metadata.annotations).every(
    ([key, value]) => (there[key] ?? null) === value,
  );
  if (isThere && isPaused(kept) === spec.paused) return kept;
  throw layeringFailure(
    'layering.not-kept',
    `machineconfigpools/${kept.metadata.name} is not as it was written`,
  );
}
