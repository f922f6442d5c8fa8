import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { placeFor } from '../host/files.ts';
import type { Machine } from '../host/machine.ts';
import type { InventoryStore } from '../inventory/store.ts';
import { type NodeKind, type Pace, stagesAfterReboot } from './cluster-state.ts';

/**
 * Advances a node after its reboot without a simulated cluster, as the machine-config-server's log,
 * the kubelet and the controller would: through the service's rules for every report.
 */
export async function reportAfterReboot(
  store: InventoryStore,
  { hostId, kind, pace }: { readonly hostId: string; readonly kind: NodeKind; readonly pace: Pace },
  signal: AbortSignal,
): Promise<void> {
  for (const { stage, afterSeconds } of stagesAfterReboot(kind, pace)) {
    await sleep(afterSeconds * 1000, undefined, { signal });
    store.report(hostId, { stage, info: '' }, 'v2');
  }
}

/** The config of the single node as bootkube renders it on the host itself. */
const renderedConfig = JSON.stringify({
  ignition: { version: '3.2.0' },
  storage: {
    files: [
      {
        path: '/etc/kubernetes/bootstrap-in-place',
        mode: 0o644,
        contents: { source: 'data:,rendered%20by%20bootkube%0A' },
      },
    ],
  },
});

/** Runs bootkube of a single node on the host: it renders the node's own Ignition. */
export function simulateBootstrapInPlace({ units, files }: Machine, pace: Pace): void {
  const write = async (path: string, text: string): Promise<void> =>
    writeFile(placeFor(files, path), text, { mode: 0o600 });
  units.onStart.set('bootkube.service', async (become, signal) => {
    become('active');
    await sleep((pace.apiSeconds + pace.bootkubeSeconds) * 1000, undefined, { signal });
    await write('/opt/openshift/master.ign', renderedConfig);
    await write('/opt/openshift/.bootkube.done', '');
    become('inactive');
  });
}
