import { machineConfigs, nodes } from '../../cluster/kinds.ts';
import { configsAgree, masterLabel, namedConfigs } from '../../cluster/machine-configs.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step, type StepScope } from '../step.ts';
import { followed, gapIn, longestWait } from './cluster-wait.ts';

/**
 * Waits until the MachineConfigs that the masters speak of exist and are the same. A bootstrap host
 * that leaves earlier can leave masters behind whose configuration nobody has.
 */
export const waitForMachineConfigs = step({
  id: 'cluster/wait-for-machine-configs',
  title: 'Wait until the masters agree on their MachineConfig',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  waitsFor: 'MachineConfigs that exist and are the same for every master',
  run: async (scope) => {
    const { kube, until, note } = scope;
    const masters = followed(kube, { kind: nodes, labelSelector: masterLabel });
    const present = new Set<string>();
    const look = async (): Promise<Look<string>> => {
      const gap = gapIn(masters.view());
      if (gap !== undefined) return { status: gap };
      const { objects } = masters.view();
      const trouble = await findNamed(scope, objects, present);
      const { isAgreed, status } = configsAgree(objects, present);
      if (isAgreed) return { done: status };
      return { status: trouble ?? status };
    };
    const agreed = await until('the masters agree on their MachineConfig', look, {
      watch: masters.watch,
      every: seconds(5),
      within: longestWait,
    });
    note('info', agreed);
  },
});

/**
 * Looks for the MachineConfigs that were not found yet. One that was found is not asked for again:
 * what a name stands for never changes.
 */
async function findNamed(
  { kube, signal }: StepScope<'kube'>,
  masters: readonly KubeObject[],
  present: Set<string>,
): Promise<string | undefined> {
  for (const name of namedConfigs(masters).filter((one) => !present.has(one))) {
    try {
      const found = await kube.get({ kind: machineConfigs, name }, signal);
      if (found !== undefined) present.add(name);
    } catch (error) {
      signal.throwIfAborted();
      return `MachineConfig ${name} cannot be read (${asAgentError(error).code})`;
    }
  }
  return undefined;
}
