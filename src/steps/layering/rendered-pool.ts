import { machineConfigPools } from '../../cluster/kinds.ts';
import type { Look } from '../../engine/wait.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { seconds } from '../../model/duration.ts';
import { followedOne, gapIn, longestWait } from '../cluster/kube-watch.ts';
import type { StepScope } from '../step.ts';

/**
 * Waits until the cluster has rendered a pool, and gives the name of its rendered MachineConfig. A MachineOSConfig
 * whose pool is not there yet is refused by the operator.
 * @throws AgentError `wait.timed-out`, `kube.denied`
 */
export async function waitForPool(
  { kube, until }: StepScope<'kube'>,
  pool: string,
): Promise<string> {
  const pools = followedOne(kube, { kind: machineConfigPools, name: pool });
  const look = (): Promise<Look<string>> => {
    const view = pools.view();
    const gap = gapIn(view);
    if (gap !== undefined) return Promise.resolve({ status: gap });
    const rendered = renderedNameOf(view.objects[0]);
    const status = `MachineConfigPool ${pool} is ${view.objects.length === 0 ? 'not there' : 'not rendered'} yet`;
    return Promise.resolve(rendered === '' ? { status } : { done: rendered });
  };
  return until(`the cluster has pool ${pool}`, look, {
    watch: pools.watch,
    every: seconds(30),
    within: longestWait,
  });
}
