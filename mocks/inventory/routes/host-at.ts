import type { HostRecord } from '../records.ts';
import type { InventoryStore } from '../store.ts';

/** The host that a path names; it must be of the infra-env that the path names, if it names one. */
export function hostAt(
  store: InventoryStore,
  path: { readonly infraEnv?: string; readonly host?: string },
): HostRecord | undefined {
  const host = store.host(path.host ?? '');
  const isThere = path.infraEnv === undefined || path.infraEnv === host?.infraEnvId;
  return isThere ? host : undefined;
}
