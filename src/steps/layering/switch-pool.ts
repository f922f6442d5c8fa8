import { machineConfigPools, pods } from '../../cluster/kinds.ts';
import type { Look } from '../../engine/wait.ts';
import type { LeftImage } from '../../layering/hand-over/left-image.ts';
import { givenUp } from '../../layering/switching/give-up.ts';
import { nextSwitchAct } from '../../layering/switching/next-act.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { leftNamespace } from '../after-pivot/record.ts';
import type { StepScope } from '../step.ts';
import { pausePool } from './pool-pause.ts';
import { doSwitchAct, returnNode, type SwitchOrder } from './switch-acts.ts';
import { followPool, type PoolTarget, readPool, switchPods } from './switch-sight.ts';

/**
 * Pauses a pool and switches its nodes to their image. All that was done can be seen in the cluster, so that the next
 * pod of the job goes on where one was ended, as one is whose own node restarts. What is not through within the time is
 * told and left to the Machine Config Operator, and so is a pool that gets another MachineConfig meanwhile.
 * @throws AgentError `kube.*`
 */
export async function switchPool(
  scope: StepScope<'kube'>,
  order: PoolOrder,
  within: Millis,
): Promise<void> {
  const { kube, until, note } = scope;
  const { pool, image } = order;
  await pausePool(scope, { kind: machineConfigPools, name: pool });
  const sight = followPool(kube, order);
  const look = async (): Promise<Look<true>> => {
    const seen = sight.standing();
    if (typeof seen === 'string') return { status: seen };
    const expected = nextSwitchAct(seen);
    if (expected.kind === 'wait') return { status: expected.why };
    // What is followed may be older than what was done last: a second node would be drained beside the first.
    const act = nextSwitchAct(await readPool(scope, order));
    if (act.kind === 'done') return { done: true };
    return { status: act.kind === 'wait' ? act.why : await doSwitchAct(scope, act, order) };
  };
  try {
    await until(`the nodes of pool ${pool} run ${image}`, look, {
      watch: sight.watch,
      every: seconds(30),
      within,
    });
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== 'wait.timed-out') throw error;
    note('warn', `not every node of pool ${pool} is switched; the cluster rolls the image out`, {
      reason: error.message,
    });
    await giveUpSwitch(scope, order);
    return;
  }
  await removePodsLeft(scope);
}

/** A pool that is switched, to what and with what. */
export type PoolOrder = SwitchOrder & PoolTarget;

/** How the nodes of a pool are switched to an image by this program. */
export const poolOrder = (
  { pool, renderedConfig, image }: LeftImage,
  program: string,
): PoolOrder => ({ pool, image, renderedConfig, program, namespace: leftNamespace });

/**
 * Ends a switch whose time is over: nodes that were only drained are given back to their work, those that a person has
 * to finish are named, and no pod of it is left.
 * @throws AgentError `kube.*`
 */
export async function giveUpSwitch(scope: StepScope<'kube'>, order: PoolOrder): Promise<void> {
  const { nodes } = await readPool(scope, order);
  const { toReturn, unfinished } = givenUp(nodes);
  for (const node of toReturn) await returnNode(scope, node, order);
  for (const { name } of unfinished) {
    scope.note('warn', `node ${name} was on its way to its image and needs a person`, {
      hint: `restart it into the image: bootwright node apply ${order.image} --record --reboot`,
    });
  }
  await removePodsLeft(scope);
}

/** Of nodes that were not begun, or that did not come back; one pool is switched at a time. */
async function removePodsLeft({ kube, signal }: StepScope<'kube'>): Promise<void> {
  for (const { metadata } of await kube.list(switchPods, signal)) {
    await kube.remove({ kind: pods, name: metadata.name, namespace: leftNamespace }, signal);
  }
}
