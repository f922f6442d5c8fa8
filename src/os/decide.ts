import { osFailure } from './failures.ts';
import { nextOf, type OsDeployment, type OsStatus } from './status.ts';

/** An image that a node is to run. */
interface WantedImage {
  readonly image: string;
  /** What its name means now, where that is known. */
  readonly digest?: string | undefined;
}

/** What `apply` has to do about the image. */
export type ApplyDecision =
  /** It runs already, and is booted next too. */
  | 'booted'
  /** It is booted next already. */
  | 'staged'
  /** Its name is followed already, but means, or may mean, another image now. */
  | 'upgrade'
  /** The host has to move to it. */
  | 'switch';

/**
 * Compares what a host has with what it is to run. Two names are two images, as they are to the
 * Machine Config Operator; a name with a tag is the same image only with the same digest.
 * @throws AgentError `os.busy`, `os.staged-by-another`
 */
export function decideApply(status: OsStatus, wanted: WantedImage): ApplyDecision {
  if (status.isBusy) throw osFailure('os.busy', 'a change of the operating system is in progress');
  const next = nextOf(status);
  if (next !== undefined) {
    if (isWanted(next, wanted)) return 'staged';
    if (next.image === wanted.image) return 'upgrade';
    throw osFailure('os.staged-by-another', `${describe(next)} boots next`, {
      context: { next: describe(next), wanted: wanted.image },
    });
  }
  const { booted } = status;
  if (booted?.image !== wanted.image) return 'switch';
  return isWanted(booted, wanted) ? 'booted' : 'upgrade';
}

/** A digest in the name decides; it may be that of a list, and the host reports one that is in it. */
function isWanted(deployment: OsDeployment, { image, digest }: WantedImage): boolean {
  if (deployment.image !== image) return false;
  return image.includes('@') || (digest !== undefined && deployment.digest === digest);
}

/** What `rollback` has to do. */
type RollbackDecision =
  /** What was staged is dropped; what runs now is booted next. */
  | 'drop-staged'
  /** What ran before is put first. */
  | 'swap'
  /** What ran before is first already. */
  | 'queued';

/**
 * What going back means: an apply that was not booted yet is dropped, otherwise the host goes back
 * to what ran before.
 * @throws AgentError `os.busy`, `os.nothing-to-roll-back`
 */
export function decideRollback(status: OsStatus): RollbackDecision {
  if (status.isBusy) throw osFailure('os.busy', 'a change of the operating system is in progress');
  if (status.staged !== undefined) return 'drop-staged';
  if (status.pending !== undefined) return 'queued';
  if (status.rollback !== undefined) return 'swap';
  throw osFailure('os.nothing-to-roll-back', 'this host has only the running deployment');
}

/** A deployment in few words, for people. */
export const describe = ({ image, version, checksum }: OsDeployment): string =>
  image ?? `commit ${checksum.slice(0, 12)}${version === undefined ? '' : ` (${version})`}`;
