import { conditionOf, listAt, textAt } from '../kube/object.ts';
import { canonicalAddress } from '../lib/address.ts';
import { fieldsOf, textOf } from '../lib/fields.ts';
import type { KubeObject } from '../ports/kube.ts';

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

/** Whether a node is Ready, and the reason if it is not. */
export type Readiness =
  { readonly isReady: true } | { readonly isReady: false; readonly reason: string };

/**
 * Messages of the kubelet (`pkg/kubelet/nodestatus/setters.go`) and of the node controller, and our
 * texts for them: short and constant, without the times and paths of the kubelet.
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

/** The most characters of an unknown message that are kept. */
const longestReason = 100;

const isReadyNow: Readiness = { isReady: true };

/** Reads the Ready condition of a node. */
export function readinessOf(node: KubeObject): Readiness {
  const { status, message, reason } = conditionOf(node, 'Ready');
  if (status === '') return { isReady: false, reason: 'no status yet' };
  if (status === 'True') return isReadyNow;
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
  nodes.filter((node) => isMaster(node) && readinessOf(node).isReady).length;

/** Whether a node is of the control plane. */
export const isMaster = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.[nodeLabel('master')] !== undefined;

/**
 * Identity of the machine of a node, whatever the node's name: its /etc/machine-id, or the name
 * until the kubelet has reported the id.
 */
export const machineIdOf = (node: KubeObject): string =>
  textAt(node, 'status', 'nodeInfo', 'machineID') || node.metadata.name;

/** Addresses of a node inside the cluster (type InternalIP), in canonical form. */
export const internalAddresses = (node: KubeObject): readonly string[] =>
  addressesOf(node, 'InternalIP');

/** Addresses of a node, of all types unless one is given, in canonical form; names are left out. */
export const addressesOf = (node: KubeObject, type?: string): readonly string[] =>
  listAt(node, 'status', 'addresses')
    .map(fieldsOf)
    .filter((one) => type === undefined || one['type'] === type)
    .map((one) => canonicalAddress(textOf(one['address'])))
    .filter((address) => address !== undefined);

/** Taints of a node in their order, which is the index in a JSON patch. */
export const taintsOf = (node: KubeObject): readonly Taint[] =>
  listAt(node, 'spec', 'taints') as readonly Taint[];
