import { osFailure } from './failures.ts';
import type { OsDeployment, OsStatus } from './status.ts';

/** An image that a node is to run. */
interface WantedImage {
  readonly image: string;
  /** What its name means now, where that is known. */
  readonly digest?: string | undefined;
}

/** What `apply` has to do about the image. */
type ApplyDecision =
  /** It runs already, and is booted next too. */
  | 'booted'
  /** It is booted next already. */
  | 'staged'
  /** It is staged, and a reboot would leave it out. */
  | 'unlock'
  /** What is staged goes, and it is staged again. */
  | 'restage'
  /** The program follows its name already, which means, or may mean, another image now. */
  | 'upgrade'
  /** The host has to move to it. */
  | 'switch';

/**
 * Compares what a host has with what it is to run. Two names are two images, as they are to the
 * Machine Config Operator; a name with a tag is the same image only with the same digest.
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
 * How a program that follows a name gets to an image: a switch to that name does nothing, or is
 * refused.
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
 * A digest in the name decides; it may be that of a list, and the host reports one that is in it.
 */
function isWanted(deployment: OsDeployment, { image, digest }: WantedImage): boolean {
  if (deployment.image !== image) return false;
  return image.includes('@') || (digest !== undefined && deployment.digest === digest);
}

/**
 * What going back means: an apply that was not booted yet is dropped (`drop-staged`), otherwise
 * what ran before is put first (`swap`), or is first already (`queued`).
 * @throws AgentError `os.busy`, `os.read-only`, `os.nothing-to-roll-back`
 */
export function decideRollback(status: OsStatus): 'drop-staged' | 'swap' | 'queued' {
  checkChangeable(status);
  if (status.staged !== undefined) return 'drop-staged';
  if (status.pending !== undefined) return 'queued';
  if (status.rollback !== undefined) return 'swap';
  throw osFailure('os.nothing-to-roll-back', 'this host has only the running deployment');
}

/** A deployment in few words, for people. */
export const describe = ({ image, version, checksum }: OsDeployment): string =>
  image ?? `commit ${checksum.slice(0, 12)}${version === undefined ? '' : ` (${version})`}`;
