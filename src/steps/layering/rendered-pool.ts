import { machineConfigPools, machineConfigs } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { renderedDifference } from '../../layering/hand-over/hand-over.ts';
import { seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followedOne, gapIn, longestWait } from '../cluster/kube-watch.ts';
import type { StepScope } from '../step.ts';
import type { RenderedConfig } from './facts.ts';
import { readManifest } from './manifests.ts';

/**
 * Waits until the cluster has rendered a pool, and gives the name of its rendered MachineConfig. A MachineOSConfig
 * whose pool is not there yet is refused by the operator.
 * @throws AgentError `wait.timed-out`
 */
export async function waitForPool(
  { kube, until }: StepScope<'kube'>,
  pool: string,
): Promise<string> {
  const pools = followedOne(kube, { kind: machineConfigPools, name: pool });
  const poll = (): Promise<PollResult<string>> => {
    const view = pools.view();
    const gap = gapIn(view);
    if (gap !== undefined) return Promise.resolve({ status: gap });
    const rendered = renderedNameOf(view.objects[0]);
    const status = `MachineConfigPool ${pool} ${view.objects.length === 0 ? 'does not exist' : 'is not rendered'} yet`;
    return Promise.resolve(rendered === '' ? { status } : { done: rendered });
  };
  return until(`MachineConfigPool ${pool} is rendered`, poll, {
    watch: pools.watch,
    every: seconds(30),
    within: longestWait,
  });
}

type RenderedScope = StepScope<'host' | 'kube'>;

/**
 * Waits until the cluster renders the pool as the bootstrap host did, and gives its MachineConfigPool. An image that
 * is handed over for another MachineConfig is cleared by one controller and set by the other for ever.
 * @throws AgentError `wait.timed-out`
 */
export async function waitForSameRendered(
  scope: RenderedScope,
  rendered: RenderedConfig,
): Promise<KubeObject> {
  const { pool, name } = rendered;
  const pools = followedOne(scope.kube, { kind: machineConfigPools, name: pool });
  const differences = differencesFrom(scope, rendered);
  const poll = async (): Promise<PollResult<KubeObject>> => {
    const view = pools.view();
    const gap = gapIn(view);
    if (gap !== undefined) return { status: gap };
    const [found] = view.objects;
    if (found === undefined) return { status: `MachineConfigPool ${pool} does not exist yet` };
    const there = renderedNameOf(found);
    if (there === name) return { done: { ...found, kind: 'MachineConfigPool' } };
    if (there === '') return { status: `MachineConfigPool ${pool} is not rendered yet` };
    return { status: `it is rendered as ${there}: ${await differences(there)}` };
  };
  return scope.until(`the cluster renders pool ${pool} as ${name}`, poll, {
    watch: pools.watch,
    every: seconds(30),
    within: longestWait,
  });
}

/** Describes the difference to another rendered MachineConfig of the cluster; each is read once. */
function differencesFrom(
  scope: RenderedScope,
  rendered: RenderedConfig,
): (other: string) => Promise<string> {
  const known = new Map<string, string>();
  return async (other) => {
    const difference = known.get(other) ?? (await differenceFrom(scope, rendered, other));
    if (difference !== undefined) known.set(other, difference);
    return difference ?? 'the difference cannot be read now';
  };
}

async function differenceFrom(
  scope: RenderedScope,
  { file, osImage }: RenderedConfig,
  other: string,
): Promise<string | undefined> {
  const { kube, signal, note } = scope;
  try {
    const cluster = await kube.get({ kind: machineConfigs, name: other }, signal);
    if (cluster === undefined) return undefined;
    const bootstrap = (await readManifest(scope, { path: file, kind: 'MachineConfig' })).value;
    return renderedDifference({ bootstrap, cluster: cluster as unknown as Fields, osImage });
  } catch (error) {
    signal.throwIfAborted();
    note('debug', `${other} cannot be compared`, { code: asAgentError(error).code });
    return undefined;
  }
}
