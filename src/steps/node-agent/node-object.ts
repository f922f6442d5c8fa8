import { machineConfigs, nodes } from '../../cluster/kinds.ts';
import { nodeKeys } from '../../layering/api/cluster-object.ts';
import type { Fields } from '../../layering/api/schema.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { operatorReasonNow } from '../cluster/operator-now.ts';
import { nodeAgentFailure } from './failures.ts';
import type { Target } from './marker.ts';
import type { NodeAgentScope } from './world.ts';

/** What the annotations of a node say; undefined where there is none. */
export type NodeState = Readonly<Partial<Record<keyof typeof nodeKeys, string>>>;

/** Reads the annotations of a node. */
export function nodeState({ metadata: { annotations = {} } }: KubeObject): NodeState {
  const found = Object.entries(nodeKeys).flatMap(([name, key]) => {
    const value = annotations[key];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

/** What a node has, or should have; undefined where nobody said. */
export const targetOf = (
  config: string | undefined,
  image: string | undefined,
): Target | undefined =>
  config === undefined ? undefined : { config, ...(image === undefined ? {} : { image }) };

/** Writes annotations of the own node; undefined removes one. Writes nothing when they are there. */
export async function annotate(
  { kube, config, signal }: NodeAgentScope,
  before: NodeState,
  after: Readonly<Partial<Record<keyof typeof nodeKeys, string | undefined>>>,
): Promise<void> {
  const names = (Object.keys(after) as readonly (keyof typeof nodeKeys)[]).filter(
    (name) => (after[name] ?? '') !== (before[name] ?? ''),
  );
  if (names.length === 0) return;
  const annotations = Object.fromEntries(
    names.map((name) => [nodeKeys[name], after[name] ?? null]),
  );
  const body = { metadata: { annotations } };
  await kube.patch({ kind: nodes, name: config.nodeName }, { type: 'merge', body }, signal);
}

/**
 * Whether the operator runs this node: its controller is there, or the node has a pod of its daemon set, which is away for a moment
 * while it is replaced. What cannot be read throws.
 */
export async function isOperators({
  kube,
  clock,
  config,
  signal,
}: NodeAgentScope): Promise<boolean> {
  const about = { kube, clock, namespace: operatorNamespace, nodes: [config.nodeName] };
  return (await operatorReasonNow(about, signal)) !== undefined;
}

/** A MachineConfig by its name; undefined when it is gone. */
export async function findConfig(
  { kube, signal }: NodeAgentScope,
  name: string,
): Promise<Fields | undefined> {
  return (await kube.get({ kind: machineConfigs, name }, signal)) as unknown as Fields | undefined;
}

/**
 * A MachineConfig by its name.
 * @throws AgentError `node-agent.config-missing`
 */
export async function readConfig(scope: NodeAgentScope, name: string): Promise<Fields> {
  const found = await findConfig(scope, name);
  if (found !== undefined) return found;
  throw configMissing(name);
}

/** There is no MachineConfig of that name, neither in the cluster nor on the host. */
export const configMissing = (name: string): Error =>
  nodeAgentFailure('node-agent.config-missing', `there is no MachineConfig ${name}`);
