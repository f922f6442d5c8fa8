import {
  argumentsIn,
  changedArguments,
  isChanged,
  isSameList,
  type KernelArgumentChange,
} from '../../os/kernel-arguments.ts';
import { type Fields, fieldsOf, isFields, type Value } from '../../layering/api/schema.ts';
import { digestOf } from '../../lib/image-name.ts';
import { jsonIn } from '../../lib/json.ts';
import { readBootId } from '../../steps/host-commands.ts';
import { machineConfigFile, readArguments, readHost } from '../../steps/os/read-host.ts';
import type { OsStatus } from '../../os/status.ts';
import { checkRequest } from '../../steps/os/check-image.ts';
import { readFinalizeError } from '../../steps/os/finalize-error.ts';
import type { OsSnapshot } from '../../steps/os/step.ts';
import { nodeAgentFailure } from './failures.ts';
import { type HostChange, hostChange } from './host-files.ts';
import { isSame, type Marker, readMarker, type Target } from './marker.ts';
import {
  configMissing,
  findConfig,
  has,
  isOperators,
  type NodeState,
  readConfig,
  readNode,
  readPool,
  type NodeAgentScope,
  targetOf,
} from './node-object.ts';
import { wantedHost, type WantedHost } from './wanted-host.ts';

/** A node, its pool and its host at one moment. */
export interface NodeView {
  readonly node: NodeState;
  readonly isOperated: boolean;
  /** What it should have; undefined where nobody said. */
  readonly target: Target | undefined;
  /** What was begun, for this target or another. */
  readonly marker?: Marker | undefined;
  /** Unless the node has what it should have. */
  readonly change?: NodeChange;
  /** What the MachineConfig of a marker for another target asks for. */
  readonly begun?: WantedHost | undefined;
  /** Why the pool of the node cannot have given it that target. */
  readonly refusal?: Error | undefined;
  readonly isPaused?: boolean;
}

/** What is under way, once everything that it needs was read. */
export interface NodeChange {
  readonly target: Target;
  readonly node: NodeState;
  /** The MachineConfig of the target, as the cluster has it. */
  readonly object: Fields;
  readonly wanted: WantedHost;
  readonly before: WantedHost | undefined;
  /** The image that is to run, where it is another than before. */
  readonly image: string | undefined;
  readonly snapshot: OsSnapshot;
  /** The kernel arguments of what runs; empty where neither MachineConfig has any. */
  readonly present: readonly string[];
  readonly bootId: string;
  /** What was begun for this target. */
  readonly marker: Marker | undefined;
  /** What the host lacks of the change. */
  readonly files: HostChange;
  /** What it lacks of the MachineConfig, whatever it had before. */
  readonly rest: HostChange;
  /** Why what was staged was not put together on the way down, as the host said then. */
  readonly notFinalized?: string | undefined;
}

/**
 * Reads what is decided on. Who runs the node is asked before the host: what fails there is no matter of a node that the operator
 * runs.
 * @throws AgentError `node-agent.config-missing`, `node-agent.unreconcilable`, `os.*`
 */
export async function readNodeView(scope: NodeAgentScope, node: NodeState): Promise<NodeView> {
  const target = targetOf(node.desiredConfig, node.desiredImage);
  const isOperated = await isOperators(scope);
  if (isOperated || target === undefined) return { node, target, isOperated };
  const marker = await readMarker(scope.host, scope.signal);
  const view = { node, target, isOperated, marker };
  const isOther = marker !== undefined && !isSame(marker, target);
  if (!isOther && has(node, target)) return view;
  if (isOther) {
    const change = await readChange(scope, { target, node, marker: undefined });
    const object = marker.object ?? (await findConfig(scope, marker.config));
    return { ...view, change, begun: object && wantedHost(object) };
  }
  if (marker?.failed !== undefined) return view;
  const change = await readChange(scope, { target, node, marker });
  return { ...view, change, ...(await poolNow(scope, change)) };
}

async function poolNow(
  scope: NodeAgentScope,
  change: NodeChange,
): Promise<Pick<NodeView, 'refusal' | 'isPaused'>> {
  const object = await readNode(scope);
  return object === undefined ? {} : readPool(scope, object, change);
}

async function readChange(
  scope: NodeAgentScope,
  asked: Pick<NodeChange, 'target' | 'node' | 'marker'>,
): Promise<NodeChange> {
  const { target, node } = asked;
  const object = await readConfig(scope, target.config);
  const wanted = wantedHost(object);
  const before = await readBefore(scope, node.currentConfig);
  if (before !== undefined) checkReconcilable(target, wanted, before);
  const snapshot = await readHost(scope);
  const wished = target.image ?? wanted.osImageURL;
  const had = node.currentImage ?? before?.osImageURL;
  const image = wished === had && mayRun(snapshot.status, wished) ? '' : wished;
  // A tag does not say what runs.
  if (image !== '') checkRequest({ image, records: true });
  const bootId = await readBootId(scope.host, scope.signal);
  const given = [wanted, before].flatMap((one) => one?.kernelArguments ?? []);
  const present = given.length === 0 ? [] : await presentArguments(scope, snapshot);
  return {
    ...asked,
    ...{ object, wanted, before, snapshot, present, bootId },
    image: image === '' ? undefined : image,
    notFinalized: await finalizationOf(scope, { marker: asked.marker, bootId }),
    files: await hostChange(scope, wanted, before),
    rest: await hostChange(scope, wanted, undefined),
  };
}

/** What became of what was staged before the host went down for this change. */
const finalizationOf = async (
  scope: NodeAgentScope,
  { marker, bootId }: Pick<NodeChange, 'marker' | 'bootId'>,
): Promise<string | undefined> =>
  marker?.phase === 'rebooting' && marker.bootId !== bootId ? readFinalizeError(scope) : undefined;

/** Whether a change needs another deployment. */
export const needsStaging = (change: NodeChange): boolean =>
  (change.image !== undefined && change.snapshot.status.booted?.image !== change.image) ||
  !hasArguments(change);

/** Whether an image runs, as far as that can be told: an image of a disk has no name, and one may have several. */
export function mayRun({ booted }: OsStatus, image: string): boolean {
  const { image: runs, digest } = booted ?? {};
  if (runs === undefined || runs === image) return true;
  const wanted = digestOf(image);
  return wanted !== undefined && (digestOf(runs) === wanted || digest === wanted);
}

/** @throws AgentError `node-agent.unreconcilable` */
function checkReconcilable(
  { config, image }: Target,
  wanted: WantedHost,
  before: WantedHost,
): void {
  const isOther = before.fixed !== wanted.fixed;
  if (!isOther && (image !== undefined || before.packages === wanted.packages)) return;
  const parts = isOther
    ? 'disks, links, users or FIPS'
    : 'extensions or kernel, and no built image,';
  throw nodeAgentFailure('node-agent.unreconcilable', `${config} has other ${parts} than before`);
}

async function readBefore(
  scope: NodeAgentScope,
  name: string | undefined,
): Promise<WantedHost | undefined> {
  const found = await (name === undefined ? readKept(scope) : readCurrent(scope, name));
  return found === undefined ? undefined : wantedHost(found);
}

/**
 * The MachineConfig that the node has. A rendered one goes with its pool, and the annotations with a node that is deleted: both
 * are on the host still.
 */
async function readCurrent(scope: NodeAgentScope, name: string): Promise<Fields> {
  const found = (await findConfig(scope, name)) ?? (await readKept(scope, name));
  if (found !== undefined) return found;
  throw configMissing(name);
}

/** The MachineConfig that the host was given last, of that name where one is given. */
async function readKept(scope: NodeAgentScope, name?: string): Promise<Fields | undefined> {
  const kept = jsonIn((await scope.host.readText(machineConfigFile, scope.signal)) ?? '') as Value;
  return isFields(kept) && (name ?? nameIn(kept)) === nameIn(kept) ? kept : undefined;
}

const nameIn = (object: Fields): unknown => fieldsOf(object['metadata'])['name'];

/** The kernel arguments of what runs: as they were given, or as the kernel has them where nobody knows that. */
const presentArguments = async (
  scope: NodeAgentScope,
  snapshot: OsSnapshot,
): Promise<readonly string[]> =>
  (await readArguments(scope, snapshot)) ?? argumentsIn(snapshot.commandLine);

/** The kernel arguments that come and go with a change: all of the MachineConfig before, and all of the new one. */
export const argumentChange = ({ wanted, before }: NodeChange): KernelArgumentChange => ({
  append: wanted.kernelArguments,
  remove: before?.kernelArguments ?? [],
});

/** What the host has of the arguments of both MachineConfigs after the change; others come and go without us. */
export const argumentsAfter = (change: NodeChange): readonly string[] =>
  ownArguments(change, changedArguments(change.present, argumentChange(change)).all);

function ownArguments(change: NodeChange, list: readonly string[]): readonly string[] {
  const { append, remove } = argumentChange(change);
  return list.filter((argument) => append.includes(argument) || remove.includes(argument));
}

/** Whether the host runs with the arguments of the target: those that were staged for it, where some were. */
export const hasArguments = (change: NodeChange): boolean => {
  const staged = change.marker?.arguments;
  return staged === undefined
    ? isChanged(change.present, argumentChange(change))
    : isSameList(ownArguments(change, change.present), staged);
};
