// The timers of the service (assisted-service, `HOST_STAGE_*_TIMEOUT` and `host/transition.go`), a
// second copy on purpose: a stand-in that used the product's own table could never find a mistake
// in it.
import type { HostRecord } from './records.ts';

const minutes = (count: number): number => count * 60_000;

/** Time for which a host may stay at a stage without a changed text, in milliseconds. */
const stageLimits: Readonly<Record<string, number>> = {
  'Starting installation': minutes(30),
  Installing: minutes(60),
  'Writing image to disk': minutes(30),
  'Copying registry data to disk': minutes(90),
  'Waiting for control plane': minutes(60),
  'Waiting for bootkube': minutes(60),
  'Waiting for controller': minutes(60),
  Rebooting: minutes(40),
  'Waiting for ignition': minutes(24 * 60),
  Configuring: minutes(60),
  Joined: minutes(60),
};

/** Waits that do not time out while a user has to act on another host. */
const exempt: ReadonlySet<string> = new Set([
  'Waiting for control plane',
  'Waiting for bootkube',
  'Waiting for controller',
  'Rebooting',
]);

/**
 * A host after the timeout of its stage; undefined before the timeout.
 * @param state.limits shorter ones of the lab, in milliseconds
 */
export function timedOut(
  host: HostRecord,
  {
    now,
    waitsForUser,
    limits = {},
  }: {
    readonly now: number;
    readonly waitsForUser: boolean;
    readonly limits?: Readonly<Record<string, number>>;
  },
): HostRecord | undefined {
  const { stage, status, stageUpdatedAt } = host;
  const limit = limits[stage] ?? stageLimits[stage];
  if (status !== 'installing-in-progress' || limit === undefined) return undefined;
  if (now - stageUpdatedAt <= limit || (waitsForUser && exempt.has(stage))) return undefined;
  if (stage === 'Rebooting') {
    return {
      ...host,
      status: 'installing-pending-user-action',
      statusInfo: 'Expected the host to boot from disk, but it booted the installation image',
    };
  }
  return {
    ...host,
    status: 'error',
    statusInfo: `Host failed to install because its installation stage ${stage} took longer than expected ${lengthOf(limit)}`,
  };
}

/** Go's form of a duration, for whole hours and for the seconds of the lab. */
const lengthOf = (limit: number): string =>
  limit < minutes(60) ? `${limit / 1000}s` : `${limit / minutes(60)}h`;
