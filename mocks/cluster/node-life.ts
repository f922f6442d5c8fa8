import { setTimeout as sleep } from 'node:timers/promises';
import type { InventoryStore } from '../inventory/store.ts';
import { lifeAfterReboot, type NodeKind, type Pace } from './pace.ts';

/**
 * Moves a node on after its reboot where no cluster is played, as the machine-config-server's log,
 * the kubelet and the controller would: through the same rules of the service as every report.
 */
export async function liveOn(
  store: InventoryStore,
  { hostId, kind, pace }: { readonly hostId: string; readonly kind: NodeKind; readonly pace: Pace },
  signal: AbortSignal,
): Promise<void> {
  for (const { stage, afterSeconds } of lifeAfterReboot(kind, pace)) {
    await sleep(afterSeconds * 1000, undefined, { signal });
    store.report(hostId, { stage, info: '' }, 'v2');
  }
}
