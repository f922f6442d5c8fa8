import { osFailure } from './failures.ts';
import type { OsDeployment, OsStatus } from './status.ts';

/** An image that a node is supposed to run. */
interface WantedImage {
  readonly image: string;
  /** The digest that its name resolves to now, if known. */
  readonly digest?: string | undefined;
}

/** The action that `apply` takes for the image. */
type ApplyDecision =
  /** The host runs the image, and boots it next. */
  | 'booted'
  /** The host boots the image next. */
  | 'staged'
  /** The image is staged, but locked: a reboot does not boot it. */
  | 'unlock'
  /** The staged deployment is dropped and staged again. */
  | 'restage'
  /** The host follows this name, which has another digest now, or may have one. */
  | 'upgrade'
  /** The host switches to another name. */
  | 'switch';

/**
 * Compares the system of a host with the wanted image. Two names are two images, as for the Machine
 * Config Operator; a name with a tag is the same image only with the same digest.
 * @throws AgentError `os.busy`, `os.read-only`, `os.staged-by-another`
 */
export function decideApply(status: OsStatus, wanted: WantedImage): ApplyDecision {
  checkChangeable(status);
  const { booted, staged, pending } = status;
  const next = staged ?? pending;
  if (next === undefined) {
    const runs = booted !== undefined && isWanted(booted, wanted);
    return runs ? 'booted' : pullOf(status, wanted.image);
  }
  const { isLocked = false } = next;
  if (next.image !== wanted.image) {
    const what = `${describe(next)} ${isLocked ? 'is staged, and locked' : 'boots next'}`;
    const context = { next: describe(next), wanted: wanted.image };
    throw osFailure('os.staged-by-another', what, { context });
  }
  if (!isWanted(next, wanted)) return isLocked ? 'restage' : pullOf(status, wanted.image);
  if (isLocked) return 'unlock';
  return status.isUnfinished === true ? 'restage' : 'staged';
}

/**
 * The command that pulls the image if the host follows its name already: a switch to the same name
 * does nothing, or is refused.
 */
export const pullOf = (
  { followed, staged, pending, booted }: Partial<OsStatus>,
  image: string,
): 'switch' | 'upgrade' =>
  (followed ?? (staged ?? pending ?? booted)?.image) === image ? 'upgrade' : 'switch';

/** @throws AgentError `os.busy`, `os.read-only` */
function checkChangeable({ isBusy, isReadOnly }: OsStatus): void {
  if (isBusy) throw osFailure('os.busy', 'a change of the operating system is in progress');
  if (isReadOnly === true)
    throw osFailure('os.read-only', 'bootc status says readOnly: bootc changes nothing here');
}

/**
 * A digest in the name decides. It may be the digest of a manifest list; the host reports the
 * digest of one of its manifests.
 */
function isWanted(deployment: OsDeployment, { image, digest }: WantedImage): boolean {
  if (deployment.image !== image) return false;
  return image.includes('@') || (digest !== undefined && deployment.digest === digest);
}

/**
 * The meaning of a rollback: drop an apply that was not booted yet (`drop-staged`), or put the
 * rollback deployment first (`swap`), or nothing if it is first already (`queued`).
 * @throws AgentError `os.busy`, `os.read-only`, `os.nothing-to-roll-back`
 */
export function decideRollback(status: OsStatus): 'drop-staged' | 'swap' | 'queued' {
  checkChangeable(status);
  if (status.staged !== undefined) return 'drop-staged';
  if (status.pending !== undefined) return 'queued';
  if (status.rollback !== undefined) return 'swap';
  throw osFailure('os.nothing-to-roll-back', 'this host has only the running deployment');
}

/** A deployment in a few words, for people. */
export const describe = ({ image, version, checksum }: OsDeployment): string =>
  image ?? `commit ${checksum.slice(0, 12)}${version === undefined ? '' : ` (${version})`}`;
