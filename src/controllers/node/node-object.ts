import {
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  nodes,
  validatingAdmissionPolicyBindings,
} from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { isPaused } from '../../layering/api/machine-config-pool.ts';
import type { Fields } from '../../lib/fields.ts';
import { poolsOfNode } from '../../layering/hand-over/pool-status.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { isCordoned, isSameTarget } from '../../layering/roll-out/node-state.ts';
import { type leaseObserver, operatorReasonNow } from '../../layering/roll-out/ownership.ts';
import { foreignReason } from '../../layering/roll-out/target.ts';
import { nodeAgentFailure } from './failures.ts';
import type { Target } from './marker.ts';
import { agentName } from './manifests.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Note } from '../../engine/events.ts';
import type { CommandScope } from '../../steps/os/request.ts';

/** Ports and settings of a pass of the node agent. */
export interface NodeAgentScope
  extends Pick<Ports, 'kube' | 'host' | 'clock'>, Omit<CommandScope, 'config' | 'note'> {
  /** Name of the agent's own node. */
  readonly nodeName: string;
  /** Uid of the observed node: another node of its name is not written to. */
  readonly uid: string | undefined;
  readonly note: Note;
  /** Observer that reports since when the leases of the operator have not changed. */
  readonly observed: ReturnType<typeof leaseObserver>;
}

/** Annotations by their short names; undefined removes one. */
export type Annotations = Readonly<Partial<Record<keyof typeof nodeKeys, string | undefined>>>;

/** Annotations of a node; undefined if missing. */
export type NodeState = Annotations & { readonly isCordoned?: boolean };

/** Reads a node. */
export function nodeState(node: KubeObject): NodeState {
  const { annotations = {} } = node.metadata;
  const found = Object.entries(nodeKeys).flatMap(([name, key]) => {
    const value = annotations[key];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(found), isCordoned: isCordoned(node) };
}

/** The agent's reasons begin with the code of a failure; the operator's daemon writes sentences. */
export const ofAgent = /^[a-z-]+\.[a-z-]+: /;

/** The current or desired target of a node; undefined if not set. */
export const targetOf = (
  config: string | undefined,
  image: string | undefined,
): Target | undefined => (config === undefined ? undefined : { config, image });

/** Whether a node already has a target. */
export function has({ currentConfig, currentImage }: NodeState, target: Target): boolean {
  const current = targetOf(currentConfig, currentImage);
  return current !== undefined && isSameTarget(current, target);
}

/** The annotations whose value on the node differs. */
export const changedAnnotations = (before: NodeState, after: Annotations): Annotations =>
  Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => (value ?? '') !== (before[name as keyof typeof nodeKeys] ?? ''),
    ),
  );

/** Writes annotations on the agent's own node. */
export async function annotate(
  { kube, nodeName, signal, uid }: NodeAgentScope,
  after: Annotations,
): Promise<void> {
  const annotations = Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      nodeKeys[name as keyof typeof nodeKeys],
      value ?? null,
    ]),
  );
  if (Object.keys(annotations).length === 0) return;
  const body = { metadata: { uid, annotations } };
  await kube.patch({ kind: nodes, name: nodeName }, { type: 'merge', body }, signal);
}

/**
 * Whether the operator runs this node: its controller exists, or the node has a pod of its daemon
 * set, which is missing for a moment while it is replaced. Throws if an object cannot be read.
 */
export async function isOperators({ signal, ...scope }: NodeAgentScope): Promise<boolean> {
  const about = { ...scope, namespace: operatorNamespace, nodes: [scope.nodeName] };
  return (await operatorReasonNow(about, signal)) !== undefined;
}

/** A MachineConfig by its name; undefined if it does not exist. */
export async function findConfig(
  { kube, signal }: NodeAgentScope,
  name: string,
): Promise<Fields | undefined> {
  return (await kube.get({ kind: machineConfigs, name }, signal)) as unknown as Fields | undefined;
}

/** Reads the node again; undefined where it is deleted, or was replaced by another of its name. */
export async function readNode({
  kube,
  nodeName: name,
  signal,
  uid,
}: NodeAgentScope): Promise<KubeObject | undefined> {
  const node = await kube.get({ kind: nodes, name }, signal);
  return node?.metadata.uid === uid ? node : undefined;
}

/**
 * Compares a target with the pool of the node: `refusal` is the reason why the controller of pools
 * cannot have set it: `node-agent.not-of-pool`, or `node-agent.unconfined` if the policy of the
 * agents is missing.
 */
export async function readPool(
  { kube, signal }: NodeAgentScope,
  node: KubeObject,
  { target, object }: { readonly target: Target; readonly object: Fields },
): Promise<{ readonly refusal: Error | undefined; readonly isPaused: boolean }> {
  const pools = await kube.list({ kind: machineConfigPools }, signal);
  const builds = await kube.list({ kind: machineOSBuilds }, signal);
  const binding = { kind: validatingAdmissionPolicyBindings, name: agentName };
  const isConfined = (await kube.get(binding, signal)) !== undefined;
  const [own] = poolsOfNode(node, pools);
  const pool = pools.find(({ metadata }) => metadata.name === own);
  const reason = foreignReason(target, { pool, config: object as object as KubeObject, builds });
  let refusal: Error | undefined;
  if (!isConfined) {
    const text = `there is no ValidatingAdmissionPolicyBinding ${agentName}`;
    refusal = nodeAgentFailure('node-agent.unconfined', text);
  } else if (reason !== undefined) refusal = nodeAgentFailure('node-agent.not-of-pool', reason);
  return { isPaused: isPaused(pool), refusal };
}
