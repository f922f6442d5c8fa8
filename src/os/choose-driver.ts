import type { BootcFinding } from './bootc.ts';
import { osFailure } from './failures.ts';

/** The programs by which a node is moved to another image. */
export const driverNames = ['bootc', 'rpm-ostree'] as const;

/** One of them. */
export type DriverName = (typeof driverNames)[number];

/** What a host has. */
interface OsFindings {
  /** /run/ostree-booted is there: the running system is an ostree deployment. */
  readonly isOstree: boolean;
  readonly bootc: BootcFinding;
  readonly hasRpmOstree: boolean;
}

/** A program, and why it and not the other. */
interface DriverChoice {
  readonly driver: DriverName;
  readonly reason: string;
}

/**
 * Chooses the program: bootc where it booted the host, else rpm-ostree; both keep the image in the
 * same place. `refusal` says why bootc cannot change the kernel arguments that are to be changed,
 * for which rpm-ostree is taken where it is there.
 * @throws AgentError `os.not-managed`, `os.no-driver`, `os.kernel-arguments-unsupported`
 */
export function chooseDriver(
  { isOstree, bootc, hasRpmOstree }: OsFindings,
  refusal?: string,
): DriverChoice {
  if (bootc.kind === 'home') {
    if (refusal === undefined) return { driver: 'bootc', reason: 'this host was booted by bootc' };
    if (hasRpmOstree)
      return { driver: 'rpm-ostree', reason: `kernel arguments change: ${refusal}` };
    const what = `${refusal}, and the host has no rpm-ostree`;
    throw osFailure('os.kernel-arguments-unsupported', what);
  }
  if (!isOstree) {
    const what = `the running system is not an ostree deployment, and ${bootc.why}`;
    throw osFailure('os.not-managed', what);
  }
  if (hasRpmOstree)
    return { driver: 'rpm-ostree', reason: `rpm-ostree is available, and ${bootc.why}` };
  throw osFailure('os.no-driver', `there is no rpm-ostree, and ${bootc.why}`);
}
