import { setTimeout as sleep } from 'node:timers/promises';
import type { InventoryStore } from '../inventory/store.ts';
import { lifeAfterReboot, type Pace } from './pace.ts';

/**
 * Moves a node on after its reboot, as the machine-config-server's log, the kubelet and the
 * controller would: through the same rules of the service as every report.
 */
export async function liveOn(
  store: InventoryStore,
  { hostId, role, pace }: { readonly hostId: string; readonly role: string; readonly pace: Pace },
  signal: AbortSignal,
): Promise<void> {
  for (const { stage, afterSeconds } of lifeAfterReboot(role, pace)) {
    await sleep(afterSeconds * 1000, undefined, { signal });
    store.report(hostId, { stage, info: '' }, 'v2');
  }
}
