import { machineConfigPools, nodes, pods } from '../../cluster/kinds.ts';
import { nodeLabel, readinessOf } from '../../cluster/node.ts';
import type { Look } from '../../engine/wait.ts';
import type { LeftImage } from '../../layering/hand-over/left-image.ts';
import { nextSwitchAct } from '../../layering/switching/next-act.ts';
import { nodeStanding } from '../../layering/switching/node-standing.ts';
import { switchPodLabels } from '../../layering/switching/pods.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeSelection } from '../../ports/kube.ts';
import { FoundRecord, leftNamespace } from '../after-pivot/record.ts';
import { followed, gapIn, longestWait, together } from '../cluster/cluster-wait.ts';
import { followMembers, waitForThreeMembers } from '../cluster/three-members.ts';
import { step, type StepScope } from '../step.ts';
import { waitForRenderedPool } from './hand-over-rendered.ts';
import { pausePool } from './pool-pause.ts';
import { unlessSwitched } from './skips.ts';
import { doSwitchAct } from './switch-acts.ts';

/**
 * Switches the nodes of pools to their images, before these are handed over: what the Machine Config Operator then
 * would roll out runs already. All that was done can be seen in the cluster, so that the next pod of the job goes on
 * where one was ended, as one is whose own node restarts.
 */
export const switchNodes = step({
  id: 'layering/switch-nodes',
  title: 'Switch the nodes to their images, one after the other',
  uses: ['kube', 'clock'],
  needs: { record: FoundRecord },
  skipIf: ({ record }) => unlessSwitched(record?.images ?? []),
  // The API server goes away for a while whenever a master restarts.
  retry: { attempts: 100, every: seconds(15) },
  limit: longestWait + minutes(30),
  waitsFor: 'each node to run its image, at most 24 hours',
  run: async (scope, { record }) => {
    await waitForThreeMembers(scope);
    for (const image of record?.images ?? []) {
      if (image.switchedBy !== undefined) await switchPool(scope, image, image.switchedBy);
    }
  },
});

const switchPods: KubeSelection = {
  kind: pods,
  namespace: leftNamespace,
  labelSelector: Object.entries(switchPodLabels)
    .map(([key, value]) => `${key}=${value}`)
    .join(','),
};

async function switchPool(
  scope: StepScope<'kube'>,
  { pool, renderedConfig, image }: LeftImage,
  program: string,
): Promise<void> {
  const { kube, until, note } = scope;
  await waitForRenderedPool(scope, { pool, name: renderedConfig });
  await pausePool(scope, { kind: machineConfigPools, name: pool });
  const members = followMembers(kube);
  const own = followed(kube, { kind: nodes, labelSelector: nodeLabel(pool) });
  const podsThere = followed(kube, switchPods);
  const target = { image, renderedConfig, program, namespace: leftNamespace };
  const look = async (): Promise<Look<true>> => {
    const gap = gapIn(own.view()) ?? gapIn(podsThere.view());
    if (gap !== undefined) return { status: gap };
    const { objects: there } = podsThere.view();
    const standings = own
      .view()
      .objects.map((node) =>
        nodeStanding({ node, readiness: readinessOf(node), pods: there }, target),
      );
    const { isReached, status } = members.standing();
    const objection = isReached ? undefined : status;
    const act = nextSwitchAct({ nodes: standings, objection });
    if (act.kind === 'done') return { done: true };
    return { status: act.kind === 'wait' ? act.why : await doSwitchAct(scope, act, target) };
  };
  await until(`the nodes of pool ${pool} run ${image}`, look, {
    watch: together(own.watch, podsThere.watch, members.watch),
    every: seconds(30),
    within: longestWait,
  });
  note('info', `the nodes of pool ${pool} run their image`, { image });
}
