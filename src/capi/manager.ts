import type { Controller } from '../kube/manager.ts';

/** The name of a provider, by clusterctl's kinds. */
export type ProviderName = 'bootstrap' | 'control-plane';

/** The namespace in which clusterctl installs a provider. */
export const namespaceOf = (name: ProviderName): string => `bootwright-${name}-system`;

/**
 * Whether all informers of a provider have synced once. From then on the provider answers from its
 * stores, also while the API server is away.
 */
export function hasSynced(controllers: readonly Controller[]): () => boolean {
  const reads = controllers.flatMap((one) => one.reads);
  let isSynced = false;
  return () => (isSynced ||= reads.every(({ gap }) => gap() === undefined));
}
