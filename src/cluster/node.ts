import type { KubeObject } from '../ports/kube.ts';
import { canonicalAddress } from '../lib/address.ts';

/** Roles of nodes that the bootstrap host waits for. */
export type ControlPlaneRole = 'master' | 'arbiter';

/** Label of the nodes of a role. */
export const nodeLabel = (role: ControlPlaneRole): string => `node-role.kubernetes.io/${role}`;

/** A taint of a node, as the API server keeps it. */
interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** What we read of a node; the API server ensures this shape (core/v1). */
interface NodeShape {
  readonly spec?: { readonly taints?: readonly Taint[] | null };
  readonly status?: {
    readonly nodeInfo?: { readonly machineID?: string };
    readonly conditions?: readonly NodeCondition[] | null;
    readonly addresses?: readonly { readonly type: string; readonly address: string }[] | null;
  };
}

const shapeOf = (node: KubeObject): NodeShape => node as NodeShape;

/** Whether a node is Ready, and if not, why. */
export type Readiness =
  { readonly isReady: true } | { readonly isReady: false; readonly reason: string };

/**
 * Messages of the kubelet (`pkg/kubelet/nodestatus/setters.go`) and of the node controller, and
 * ours: short, and the same each time, without the times and paths of the kubelet.
 */
const knownReasons: readonly (readonly [RegExp, string])[] = [
  [/container runtime network not ready/i, 'container network is not ready'],
  [/container runtime is down/i, 'container runtime is down'],
  [/PLEG is not healthy/i, 'PLEG is not healthy'],
  [/stopped posting node status/i, 'kubelet stopped posting status'],
  [/never posted node status/i, 'kubelet never posted status'],
  [/CSINode is not yet initialized/i, 'CSINode is not initialized'],
  [/node is shutting down/i, 'node is shutting down'],
];

/** How many characters of an unknown message are kept. */
const longestReason = 100;

const isReadyNow: Readiness = { isReady: true };

/** Reads the Ready condition of a node. */
export function readinessOf(node: KubeObject): Readiness {
  const ready = shapeOf(node).status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined) return { isReady: false, reason: 'no status yet' };
  if (ready.status === 'True') return isReadyNow;
  const { message = '', reason = '' } = ready;
  const known = knownReasons.find(([words]) => words.test(message))?.[1];
  return { isReady: false, reason: known ?? firstClause(message, reason) };
}

/** A message without its details, which change from one message to the next. */
function firstClause(message: string, reason: string): string {
  const clause =
    message
      .replace(/^\[/, '')
      .split(/[:;,\n]/, 1)[0]
      ?.trim() ?? '';
  return clause === '' ? reason || 'no reason given' : clause.slice(0, longestReason);
}

/** How many nodes of the control plane are Ready. */
export const readyMasters = (nodes: readonly KubeObject[]): number =>
  nodes.filter(
    (node) =>
      node.metadata.labels?.[nodeLabel('master')] !== undefined && readinessOf(node).isReady,
  ).length;

/**
 * What the machine of a node is known by, whatever its name: its /etc/machine-id; the name before
 * the kubelet has said that.
 */
export function machineIdOf(node: KubeObject): string {
  const { machineID = '' } = shapeOf(node).status?.nodeInfo ?? {};
  return machineID === '' ? node.metadata.name : machineID;
}

/** Addresses of a node inside the cluster (type InternalIP), in canonical form. */
export const internalAddresses = (node: KubeObject): readonly string[] =>
  addressesOf(node, ({ type }) => type === 'InternalIP');

type NodeAddress = NonNullable<NonNullable<NodeShape['status']>['addresses']>[number];

/** Addresses of a node, all unless some are chosen, in canonical form; names are none. */
export const addressesOf = (
  node: KubeObject,
  isChosen: (one: NodeAddress) => boolean = () => true,
): readonly string[] =>
  (shapeOf(node).status?.addresses ?? [])
    .filter(isChosen)
    .map(({ address }) => canonicalAddress(address))
    .filter((address) => address !== undefined);

/** Taints of a node in their order, which is the index in a JSON patch. */
export const taintsOf = (node: KubeObject): readonly Taint[] => shapeOf(node).spec?.taints ?? [];
