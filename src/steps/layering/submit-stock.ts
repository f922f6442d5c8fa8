import { readMachineOSConfig } from '../../layering/api/os-config.ts';
import type { StepScope } from '../step.ts';
import type { PoolOrder } from './facts.ts';
import { readManifest } from './hand-over-manifest.ts';
import { submitOsConfig } from './hand-over-os-config.ts';
import { putSecrets } from './hand-over-secrets.ts';
import { waitForPool } from './rendered-pool.ts';

/**
 * Gives the cluster what the user asked for where no image could be built: it builds by itself and rolls out once it
 * can run the job, which takes a worker, or masters that take work.
 * @throws AgentError `layering.*`, `kube.*`, `wait.timed-out`
 */
export async function submitStock(
  scope: StepScope<'host' | 'kube'>,
  pools: readonly PoolOrder[],
): Promise<void> {
  for (const order of pools) {
    const source = await readManifest(scope, { path: order.osConfig, kind: 'MachineOSConfig' });
    await waitForPool(scope, order.pool);
    await putSecrets(scope, order, readMachineOSConfig(source));
    await submitOsConfig(scope, source);
    scope.note('info', `pool ${order.pool}: the cluster builds its image later`);
  }
}
