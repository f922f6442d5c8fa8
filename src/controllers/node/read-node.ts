import { type Fields, fieldsOf, isFields, type Value } from '../../lib/fields.ts';
import { jsonIn } from '../../lib/json.ts';
import { isSameTarget } from '../../layering/roll-out/node-state.ts';
import { machineConfigFile } from '../../steps/os/read-host.ts';
import { type NodeChange, planChange } from './change.ts';
import { nodeAgentFailure } from './failures.ts';
import { readHostSnapshot } from './host-snapshot.ts';
import { type Marker, readMarker, type Target } from './marker.ts';
import {
  findConfig,
  has,
  isOperators,
  type NodeAgentScope,
  type NodeState,
  readNode,
  readPool,
  targetOf,
} from './node-object.ts';
import { wantedHost, type WantedHost } from './wanted-host.ts';

/** A node, its pool and its host at one moment. */
export interface NodeView {
  readonly node: NodeState;
  readonly isOperated: boolean;
  /** Its desired state; undefined if not set. */
  readonly target: Target | undefined;
  /** The record of a change, to this target or another. */
  readonly marker?: Marker | undefined;
  /** Undefined if the node has its desired state. */
  readonly change?: NodeChange;
  /** The content of the MachineConfig in a marker for another target. */
  readonly begun?: WantedHost | undefined;
  /** The reason why the pool of the node cannot have set that target. */
  readonly refusal?: Error | undefined;
  readonly isPaused?: boolean;
}

/**
 * Reads the data of a decision, each part once. It reads the program that runs the node before the
 * host: a failure of the host does not matter on a node that the operator runs.
 * @throws AgentError `node-agent.config-missing`, `node-agent.unreconcilable`, `os.*`
 */
export async function readNodeView(scope: NodeAgentScope, node: NodeState): Promise<NodeView> {
  const target = targetOf(node.desiredConfig, node.desiredImage);
  const isOperated = await isOperators(scope);
  if (isOperated || target === undefined) return { node, target, isOperated };
  const marker = await readMarker(scope.host, scope.signal);
  const view = { node, target, isOperated, marker };
  const isOther = marker !== undefined && !isSameTarget(marker, target);
  if (!isOther && (has(node, target) || marker?.failed !== undefined)) return view;
  const object = await findConfig(scope, target.config);
  if (object === undefined) throw configMissing(target.config);
  const [wanted, before] = [wantedHost(object), await readBefore(scope, node.currentConfig)];
  const begunObject = isOther
    ? (marker.object ?? (await findConfig(scope, marker.config)))
    : undefined;
  const begun = begunObject && wantedHost(begunObject);
  const configs = [wanted, before, begun].filter((one) => one !== undefined);
  const own = isOther ? undefined : marker;
  const host = await readHostSnapshot(scope, configs, own);
  const change = planChange({ target, node, object, wanted, before, host, marker: own });
  if (isOther) return { ...view, change, begun };
  const fresh = await readNode(scope);
  return { ...view, change, ...(fresh && (await readPool(scope, fresh, change))) };
}

const configMissing = (name: string): Error =>
  nodeAgentFailure('node-agent.config-missing', `there is no MachineConfig ${name}`);

/**
 * The content of the node's current MachineConfig. A rendered one is deleted with its pool, and the
 * annotations with a deleted node: the host still has both.
 */
async function readBefore(
  scope: NodeAgentScope,
  name: string | undefined,
): Promise<WantedHost | undefined> {
  const found = name === undefined ? undefined : await findConfig(scope, name);
  const object = found ?? (await readKept(scope, name));
  if (object !== undefined) return wantedHost(object);
  if (name === undefined) return undefined;
  throw configMissing(name);
}

/** The MachineConfig that the host applied last; with a name, only if it has that name. */
async function readKept(
  scope: NodeAgentScope,
  name: string | undefined,
): Promise<Fields | undefined> {
  const kept = jsonIn((await scope.host.readText(machineConfigFile, scope.signal)) ?? '') as Value;
  return isFields(kept) && (name ?? nameIn(kept)) === nameIn(kept) ? kept : undefined;
}

const nameIn = (object: Fields): unknown => fieldsOf(object['metadata'])['name'];
