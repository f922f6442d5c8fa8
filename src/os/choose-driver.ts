import { type BootcFinding, bootc } from './bootc.ts';
import { osFailure } from './failures.ts';
import type { DriverName, OsDriver } from './driver.ts';
import { plainOstree } from './plain-ostree.ts';
import { rpmOstree } from './rpm-ostree.ts';

/** The drivers by their names. */
export const drivers: Readonly<Record<DriverName, OsDriver>> = {
  bootc,
  'rpm-ostree': rpmOstree,
  ostree: plainOstree,
};

/** What a host has. */
export interface OsFindings {
  /** /run/ostree-booted is there: the running system is an ostree deployment. */
  readonly isOstree: boolean;
  readonly bootc: BootcFinding;
  readonly hasRpmOstree: boolean;
  /** `ostree container` works. */
  readonly hasOstreeContainer: boolean;
}

/** A driver, and why it and none of the others. */
interface DriverChoice {
  readonly driver: DriverName;
  readonly reason: string;
}

/**
 * Chooses the driver: bootc where it booted the host, else rpm-ostree, else ostree itself. bootc has
 * no command for kernel arguments (1.16), so for those rpm-ostree is preferred; both keep the
 * image in the same place.
 * @throws AgentError `os.not-managed`, `os.no-driver`
 */
export function chooseDriver(
  { isOstree, bootc: found, hasRpmOstree, hasOstreeContainer }: OsFindings,
  changesKernelArguments: boolean,
): DriverChoice {
  const isHome = found.kind === 'home';
  if (isHome && changesKernelArguments && hasRpmOstree) {
    return {
      driver: 'rpm-ostree',
      reason: 'kernel arguments change, for which bootc has no command',
    };
  }
  if (isHome) return { driver: 'bootc', reason: 'this host was booted by bootc' };
  if (!isOstree) {
    throw osFailure(
      'os.not-managed',
      `the running system is not an ostree deployment, and ${found.why}`,
    );
  }
  if (hasRpmOstree)
    return { driver: 'rpm-ostree', reason: `rpm-ostree is available, and ${found.why}` };
  if (hasOstreeContainer) {
    return {
      driver: 'ostree',
      reason: `ostree container is available, rpm-ostree is not, and ${found.why}`,
    };
  }
  throw osFailure(
    'os.no-driver',
    `there is neither rpm-ostree nor ostree container, and ${found.why}`,
  );
}
