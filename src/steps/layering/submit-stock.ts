import { machineConfigPools } from '../../cluster/kinds.ts';
import type { Look } from '../../engine/wait.ts';
import { textAt } from '../../layering/cluster-object.ts';
import { readMachineOSConfig } from '../../layering/os-config/read.ts';
import { seconds } from '../../model/duration.ts';
import { followed, gapIn, longestWait } from '../cluster/cluster-wait.ts';
import type { StepScope } from '../step.ts';
import type { PoolOrder } from './facts.ts';
import { readManifest } from './hand-over-manifest.ts';
import { submitOsConfig } from './hand-over-os-config.ts';
import { putSecrets } from './hand-over-secrets.ts';

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

/** A MachineOSConfig whose pool is not there yet is refused by the operator. */
async function waitForPool({ kube, until }: StepScope<'kube'>, pool: string): Promise<void> {
  const pools = followed(kube, {
    kind: machineConfigPools,
    fieldSelector: `metadata.name=${pool}`,
  });
  const look = (): Promise<Look<true>> => {
    const view = pools.view();
    const gap = gapIn(view);
    if (gap !== undefined) return Promise.resolve({ status: gap });
    const isRendered = textAt(view.objects[0], 'spec', 'configuration', 'name') !== '';
    const status = `MachineConfigPool ${pool} is ${view.objects.length === 0 ? 'not there' : 'not rendered'} yet`;
    return Promise.resolve(isRendered ? { done: true } : { status });
  };
  await until(`the cluster has pool ${pool}`, look, {
    watch: pools.watch,
    every: seconds(30),
    within: longestWait,
  });
}
