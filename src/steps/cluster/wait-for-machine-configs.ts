import { nodeLabel } from '../../cluster/node.ts';
import { machineConfigs, nodes } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import { followed, longestWait, untilSeen } from './kube-watch.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';

/**
 * Waits until the MachineConfigs in the annotations of the masters exist and are the same. If the
 * bootstrap host leaves earlier, a master may need a configuration that does not exist.
 */
export const waitForMachineConfigs = step({
  id: 'cluster/wait-for-machine-configs',
  title: 'Wait for the masters to agree on a MachineConfig',
  uses: ['kube'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  explain: () => 'waits for one MachineConfig that exists and is desired by every master',
  run: async (scope) => {
    const { kube, note } = scope;
    const masters = followed(kube, { kind: nodes, labelSelector: nodeLabel('master') });
    const present = new Set<string>();
    const poll = async (objects: readonly KubeObject[]): Promise<PollResult<string>> => {
      const lastError = await findNamed(scope, objects, present);
      const { isAgreed, status } = configsAgree(objects, present);
      if (isAgreed) return { done: status };
      return { status: lastError ?? status };
    };
    const until = untilSeen(scope.until, masters, { every: seconds(5) });
    note('info', await until('the masters agree on a MachineConfig', poll));
  },
});

/**
 * Requests the MachineConfigs that were not found yet. A found one is not requested again: the
 * object of a name never changes.
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

/** Names of the current and desired MachineConfigs of a node; empty if it has no annotations. */
const configsOf = ({ metadata: { name, annotations } }: KubeObject) => ({
  node: name,
  current: annotations?.[nodeKeys.currentConfig] ?? '',
  desired: annotations?.[nodeKeys.desiredConfig] ?? '',
});

/** Names of the current and desired MachineConfigs of nodes, each once. */
export function namedConfigs(nodes: readonly KubeObject[]): readonly string[] {
  const names = nodes.map(configsOf).flatMap(({ current, desired }) => [current, desired]);
  return [...new Set(names)].filter((name) => name !== '').sort();
}

interface Agreement {
  readonly isAgreed: boolean;
  readonly status: string;
}

const missing = (status: string): Agreement => ({ isAgreed: false, status });

/**
 * Whether the current and desired MachineConfigs of every master exist, and all masters desire the
 * same one. A node that starts with a configuration that only the temporary control plane rendered
 * stays degraded.
 * @param present names of the existing MachineConfigs
 */
export function configsAgree(
  nodes: readonly KubeObject[],
  present: ReadonlySet<string>,
): Agreement {
  if (nodes.length === 0) return missing('there is no master node yet');
  const all = nodes.map(configsOf);
  for (const { node, current, desired } of all) {
    if (current === '') return missing(`${node} has no current MachineConfig`);
    if (desired === '') return missing(`${node} has no desired MachineConfig`);
  }
  const absent = namedConfigs(nodes).filter((name) => !present.has(name));
  if (absent.length > 0) return missing(`not in the cluster: MachineConfig ${absent.join(', ')}`);
  const wanted = new Set(all.map(({ desired }) => desired));
  if (wanted.size === 1) {
    return { isAgreed: true, status: `${nodes.length} masters agree on ${[...wanted].join('')}` };
  }
  const desires = all.map(({ node, desired }) => `${node} desires ${desired}`);
  return missing(`the masters differ: ${desires.join(', ')}`);
}
