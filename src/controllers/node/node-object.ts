import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  nodes,
  validatingAdmissionPolicyBindings,
} from '../../cluster/kinds.ts';
import { nodeKeys } from '../../layering/api/cluster-object.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { poolOfNode } from '../../layering/hand-over/pool-status.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { foreignReason } from '../../layering/roll-out/target.ts';
import { operatorReasonNow } from '../../layering/roll-out/ownership.ts';
import { nodeAgentFailure } from './failures.ts';
import type { Target } from './marker.ts';
import { agentName } from './permissions.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Note } from '../../reconcile/write.ts';
import type { CommandScope } from '../../steps/os/step.ts';

/** What the agent of a node has at hand in one pass. */
export interface NodeAgentScope
  extends Pick<Ports, 'kube' | 'host' | 'clock'>, Omit<CommandScope, 'config' | 'note'> {
  readonly config: {
    /** Name of the node that it runs on. */
    readonly nodeName: string;
  };
  /** Of the node that was seen: another one of its name is not written to. */
  readonly uid: string | undefined;
  readonly note: Note;
}

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
  { kube, config, signal, uid }: NodeAgentScope,
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
  const body = { metadata: { uid, annotations } };
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

/**
 * Refuses what the controller of pools would not have asked for, by a fresh reading: whoever else can write the annotations of a
 * node would boot it into anything.
 * @throws AgentError `node-agent.not-of-pool`; `node-agent.unconfined` where the policy of the agents is missing
 */
export async function checkTarget(
  { kube, config, signal }: NodeAgentScope,
  { target, object }: { readonly target: Target; readonly object: Fields },
): Promise<void> {
  const binding = { kind: validatingAdmissionPolicyBindings, name: agentName };
  if ((await kube.get(binding, signal)) === undefined) {
    const text = `there is no ValidatingAdmissionPolicyBinding ${agentName}`;
    throw nodeAgentFailure('node-agent.unconfined', text);
  }
  const node = await kube.get({ kind: nodes, name: config.nodeName }, signal);
  const pools = await kube.list({ kind: machineConfigPools }, signal);
  const builds = await kube.list({ kind: machineOSBuilds }, signal);
  const found = node && poolOfNode(node, { pools, nodes: [node] });
  const pool = pools.find(({ metadata }) => metadata.name === found?.name);
  const reason = foreignReason(target, { pool, config: object as object as KubeObject, builds });
  if (reason !== undefined) throw nodeAgentFailure('node-agent.not-of-pool', reason);
}
