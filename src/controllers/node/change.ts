import {
  changedArguments,
  isApplied,
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

/** The current change of a node, with everything that was read for it. */
export interface NodeChange {
  readonly target: Target;
  readonly node: NodeState;
  /** The MachineConfig of the target, from the cluster. */
  readonly object: Fields;
  readonly wanted: WantedHost;
  readonly before: WantedHost | undefined;
  /** The image to run, if it differs from the previous one. */
  readonly image: string | undefined;
  readonly host: HostSnapshot;
  /** The progress of a change to this target. */
  readonly marker: Marker | undefined;
  /** Differences between the host and the change. */
  readonly files: HostChange;
  /** Differences between the host and the MachineConfig, without regard to the previous one. */
  readonly rest: HostChange;
}

/**
 * Computes the current change of a node.
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
  // A tag does not identify the running image.
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
 * Whether an image runs, as far as it is known: the image of an installed disk has no name, and an
 * image may have several.
 */
export function mayRun({ booted }: OsStatus, image: string): boolean {
  const { image: runs, digest } = booted ?? {};
  if (runs === undefined || runs === image) return true;
  const wanted = digestOf(image);
  return wanted !== undefined && (digestOf(runs) === wanted || digest === wanted);
}

/**
 * The operator lets a MachineConfig drop its links, and leaves them on the host
 * (`isConfigReconcilable`).
 * @throws AgentError `node-agent.unreconcilable`
 */
function checkReconcilable(
  { config, image }: Target,
  wanted: WantedHost,
  before: WantedHost,
): void {
  const hasOtherLinks = wanted.links !== '{}' && before.links !== wanted.links;
  const isOther = before.fixed !== wanted.fixed || hasOtherLinks;
  if (!isOther && (image !== undefined || before.packages === wanted.packages)) return;
  const parts = isOther
    ? 'disks, links, users, kernel arguments in Ignition or FIPS'
    : 'extensions or kernel, and no built image,';
  throw nodeAgentFailure('node-agent.unreconcilable', `${config} has other ${parts} than before`);
}

/**
 * The kernel arguments that a change removes and adds: all of the previous MachineConfig, and all
 * of the new one.
 */
export const argumentChange = ({
  wanted,
  before,
}: Pick<NodeChange, 'wanted' | 'before'>): KernelArgumentChange => ({
  append: wanted.kernelArguments,
  remove: before?.kernelArguments ?? [],
});

/**
 * The arguments of both MachineConfigs that the host has after the change; other arguments do not
 * belong to it.
 */
export const argumentsAfter = (change: NodeChange): readonly string[] =>
  ownArguments(change, changedArguments(change.host.kernelArguments, argumentChange(change)).all);

function ownArguments(change: NodeChange, list: readonly string[]): readonly string[] {
  const { append, remove } = argumentChange(change);
  return list.filter((argument) => append.includes(argument) || remove.includes(argument));
}

/**
 * Whether the host runs with the arguments of the target; if arguments were staged for it, with
 * these.
 */
export const hasArguments = (change: NodeChange): boolean => {
  const { kernelArguments } = change.host;
  const staged = change.marker?.arguments;
  return staged === undefined
    ? isApplied(kernelArguments, argumentChange(change))
    : isSameList(ownArguments(change, kernelArguments), staged);
};
