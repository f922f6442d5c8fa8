import {
  changedArguments,
  isChanged,
  isSameList,
  type KernelArgumentChange,
} from '../../os/kernel-arguments.ts';
import type { Fields } from '../../lib/fields.ts';
import { digestOf } from '../../lib/image-name.ts';
import type { OsStatus } from '../../os/status.ts';
import { checkRequest } from '../../steps/os/check-image.ts';
import { nodeAgentFailure } from './failures.ts';
import { type HostChange, hostChange } from './host-files.ts';
import type { HostSnapshot } from './host-snapshot.ts';
import type { Marker, Target } from './marker.ts';
import type { NodeState } from './node-object.ts';
import type { WantedHost } from './wanted-host.ts';

/** What is under way, by all that was read for it. */
export interface NodeChange {
  readonly target: Target;
  readonly node: NodeState;
  /** The MachineConfig of the target, as the cluster has it. */
  readonly object: Fields;
  readonly wanted: WantedHost;
  readonly before: WantedHost | undefined;
  /** The image that is to run, where it is another than before. */
  readonly image: string | undefined;
  readonly host: HostSnapshot;
  /** What was begun for this target. */
  readonly marker: Marker | undefined;
  /** What the host lacks of the change. */
  readonly files: HostChange;
  /** What it lacks of the MachineConfig, whatever it had before. */
  readonly rest: HostChange;
}

/**
 * Works out what is under way for a node.
 * @throws AgentError `node-agent.unreconcilable`, `os.bad-image-name`
 */
export function planChange(
  given: Pick<NodeChange, 'target' | 'node' | 'object' | 'wanted' | 'before' | 'host' | 'marker'>,
): NodeChange {
  const { target, node, wanted, before, host } = given;
  if (before !== undefined) checkReconcilable(target, wanted, before);
  const wished = target.image ?? wanted.osImageURL;
  const had = node.currentImage ?? before?.osImageURL;
  const image = wished === had && mayRun(host.os.status, wished) ? '' : wished;
  // A tag does not say what runs.
  if (image !== '') checkRequest({ image, records: true });
  return {
    ...given,
    image: image === '' ? undefined : image,
    files: hostChange(host, wanted, before),
    rest: hostChange(host, wanted, undefined),
  };
}

/** Whether a change needs another deployment. */
export const needsStaging = (change: NodeChange): boolean =>
  (change.image !== undefined && change.host.os.status.booted?.image !== change.image) ||
  !hasArguments(change);

/**
 * Whether an image runs, as far as that can be told: an image of a disk has no name, and one may
 * have several.
 */
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

/**
 * The kernel arguments that come and go with a change: all of the MachineConfig before, and all of
 * the new one.
 */
export const argumentChange = ({
  wanted,
  before,
}: Pick<NodeChange, 'wanted' | 'before'>): KernelArgumentChange => ({
  append: wanted.kernelArguments,
  remove: before?.kernelArguments ?? [],
});

/**
 * What the host has of the arguments of both MachineConfigs after the change; others come and go
 * without us.
 */
export const argumentsAfter = (change: NodeChange): readonly string[] =>
  ownArguments(change, changedArguments(change.host.kernelArguments, argumentChange(change)).all);

function ownArguments(change: NodeChange, list: readonly string[]): readonly string[] {
  const { append, remove } = argumentChange(change);
  return list.filter((argument) => append.includes(argument) || remove.includes(argument));
}

/**
 * Whether the host runs with the arguments of the target: those that were staged for it, where some
 * were.
 */
export const hasArguments = (change: NodeChange): boolean => {
  const { kernelArguments } = change.host;
  const staged = change.marker?.arguments;
  return staged === undefined
    ? isChanged(kernelArguments, argumentChange(change))
    : isSameList(ownArguments(change, kernelArguments), staged);
};
