import { leases } from './kinds.ts';
import { asAgentError } from '../engine/failures.ts';
import { limited } from '../engine/limit.ts';
import { type Millis, seconds } from '../model/duration.ts';
import type { Ports } from '../ports/ports.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';
import { isForbidden } from '../ports/kube-failures.ts';
import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import type { Note } from '../engine/events.ts';

/** Failures of a lease. */
export const leaseFailures = {
  'controller.lease-lost': {
    kind: 'cluster',
    title: 'Another controller may work on this cluster now',
    hint: 'its pod starts again; look at the lease that the log names if it happens often',
  },
} as const satisfies FailureTable;

/** Builds an error of a lease. */
export const leaseFailure = failuresOf(leaseFailures);

/** Whether this is why a signal was aborted: what a successor needs must stay then. */
export const isLeaseLost = (reason: unknown): boolean =>
  reason instanceof AgentError && reason.code === 'controller.lease-lost';

/** Who wants the lease. */
export interface Contender {
  /** Name of the lease, and where it is. */
  readonly lease: string;
  readonly namespace: string;
  /**
   * Its own pod, by its id: what an earlier process of this pod holds is free, since that process
   * has ended.
   */
  readonly pod: string;
  readonly isSingleNode: boolean;
  /** Those of OpenShift unless given. */
  readonly times?: LeaseTimes;
}

/** A lease that is held, and renewed until it is released. */
export interface HeldLease {
  /** Aborts when another holds it, or may do so soon: it could not be renewed in time. */
  readonly lost: AbortSignal;
  /** Ends the renewals and lets others have it at once. */
  readonly release: () => Promise<void>;
}

type LeaseScope = Pick<Ports, 'kube' | 'clock' | 'random'> & {
  readonly signal: AbortSignal;
  readonly note: Note;
};

interface Renewal {
  readonly record: LeaseRecord;
  readonly times: LeaseTimes;
  /** When the write began by which it is held; undefined while RBAC forbids it. */
  readonly since: Millis | undefined;
}

/** How long a lease holds, and how often it is renewed. */
export interface LeaseTimes {
  /** One that is not renewed for so long is free. */
  readonly duration: Millis;
  /** Who could not renew it for so long has lost it. */
  readonly renewDeadline: Millis;
  readonly retryPeriod: Millis;
}

/**
 * What OpenShift recommends, so that an API server may be away for 78 seconds, and for 180 on a
 * single node (openshift/library-go, `LeaderElectionDefaulting` and `LeaderElectionSNOConfig`).
 */
const usual: LeaseTimes = {
  duration: seconds(137),
  renewDeadline: seconds(107),
  retryPeriod: seconds(26),
};
const onSingleNode: LeaseTimes = {
  duration: seconds(270),
  renewDeadline: seconds(240),
  retryPeriod: seconds(60),
};

/** A stop has four seconds in all. */
const releaseLimit: Millis = seconds(1);

/**
 * Waits until this controller holds its lease, by the rules of client-go (`tools/leaderelection`):
 * another's is free when it was not renewed for its duration by our own clock, and each write names
 * the version that it changes. The log says who holds it meanwhile. Where RBAC forbids leases, as
 * the role of assisted-installer-controller does, it runs without one and asks again at each
 * renewal: an API server that has just started may not know its roles yet.
 * @throws the signal's reason
 */
export async function holdLease(scope: LeaseScope, contender: Contender): Promise<HeldLease> {
  const { clock, random, signal, note } = scope;
  const times = contender.times ?? (contender.isSingleNode ? onSingleNode : usual);
  const identity = `${contender.pod}_${random.uuid()}`;
  const record = leaseRecord(scope, { ...contender, identity, times });
  const noteOnce = onceEach(note);
  for (;;) {
    const since = clock.elapsed();
    let pause = random.between(times.retryPeriod, times.retryPeriod * 1.2);
    try {
      const attempt = await record.attempt(signal);
      if (attempt.isHeld) {
        note('info', heldText, { identity });
        return renewed(scope, { record, times, since });
      }
      if (attempt.holder !== '') noteOnce('another controller holds the lease', attempt);
      pause = Math.min(pause, attempt.pause);
    } catch (error) {
      signal.throwIfAborted();
      if (isForbidden(error)) {
        const reason = error.message;
        note('info', 'RBAC forbids leases; running without leader election', { reason });
        return renewed(scope, { record, times, since: undefined });
      }
      const { code: holder } = asAgentError(error);
      noteOnce('the lease cannot be taken: trying again', { holder });
    }
    await clock.sleep(pause, signal);
  }
}

const heldText = 'the lease is held';

const onceEach = (note: LeaseScope['note']) => {
  let last = '';
  return (message: string, { holder }: { readonly holder: string }): void => {
    if (last !== message + holder) note('info', message, { holder });
    last = message + holder;
  };
};

function renewed(
  { clock, signal, note }: LeaseScope,
  { record, times, since }: Renewal,
): HeldLease {
  let isHeld = since !== undefined;
  const lost = new AbortController();
  const released = new AbortController();
  const stop = AbortSignal.any([signal, released.signal]);
  const lose = (reason: string): void => {
    note('warn', 'the lease is lost', { reason });
    lost.abort(leaseFailure('controller.lease-lost', `the lease is lost: ${reason}`));
  };
  const late = (): Error => new Error('it could not be renewed in time');
  /** Resolves with the reason why it is lost. */
  const renewUntilLost = async (): Promise<string> => {
    let deadline = since === undefined ? Number.POSITIVE_INFINITY : since + times.renewDeadline;
    let pause = times.retryPeriod;
    for (;;) {
      await clock.sleep(Math.min(pause, deadline - clock.elapsed()), stop);
      const began = clock.elapsed();
      if (began >= deadline) return late().message;
      pause = times.retryPeriod;
      try {
        const limit = Math.min(deadline - began, times.renewDeadline);
        const attempt = await limited(clock, { limit, signal: stop, late }, record.attempt);
        if (attempt.isHeld && !isHeld) note('info', heldText);
        isHeld ||= attempt.isHeld;
        if (attempt.isHeld) deadline = began + times.renewDeadline;
        else if (attempt.holder === '') pause = attempt.pause;
        else return `${attempt.holder} holds it`;
      } catch {
        stop.throwIfAborted();
      }
    }
  };
  const ended = renewUntilLost().then(lose, () => undefined);
  return {
    lost: lost.signal,
    release: async () => {
      released.abort(new Error('the lease is released'));
      await ended;
      if (!isHeld) return;
      const limit = { limit: releaseLimit, signal: new AbortController().signal, late };
      await limited(clock, limit, record.clear).catch((error: unknown) => {
        note('info', 'the lease could not be released', { reason: asAgentError(error).message });
      });
    },
  };
}

type Attempt =
  | { readonly isHeld: true }
  | {
      readonly isHeld: false;
      /** Empty: nobody holds it, but it changed while it was written. */
      readonly holder: string;
      readonly pause: Millis;
    };

/** The lease at the API server, as this contender sees it. */
interface LeaseRecord {
  /** Takes or renews it if it is free. */
  readonly attempt: (signal: AbortSignal) => Promise<Attempt>;
  /** Says that nobody holds it. */
  readonly clear: (signal: AbortSignal) => Promise<void>;
}

interface Candidate extends Contender {
  readonly identity: string;
  readonly times: LeaseTimes;
}

const leaseType = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

function leaseRecord({ kube, clock, random, note }: LeaseScope, candidate: Candidate): LeaseRecord {
  const { identity, lease: name, namespace } = candidate;
  const ref: KubeRef = { kind: leases, namespace, name };
  let observed: Observed = { object: undefined, since: clock.elapsed() };
  const observe = (object: KubeObject | undefined): void => {
    const isSame = JSON.stringify(object?.['spec']) === JSON.stringify(observed.object?.['spec']);
    observed = { object, since: isSame ? observed.since : clock.elapsed() };
  };
  const read = async (signal: AbortSignal): Promise<void> => observe(await kube.get(ref, signal));
  const write = async (spec: LeaseSpec, signal: AbortSignal): Promise<void> => {
    const { object } = observed;
    const made = { ...leaseType, metadata: { name }, spec };
    observe(
      object === undefined
        ? await kube.create({ kind: leases, namespace }, made, signal)
        : await kube.replace(ref, { ...object, spec }, { signal }),
    );
  };
  const holder = (): string => specOf(observed.object).holderIdentity ?? '';
  const claim = (): Claim => claimOf(observed, candidate, clock.elapsed());
  return {
    attempt: async (signal) => {
      if (holder() !== identity) await read(signal);
      const before = claim();
      if (!before.isFree) return { isHeld: false, ...before };
      if (before.isExpired) {
        note('warn', 'the lease is taken over: it was not renewed', { holder: holder() });
      }
      try {
        await write(takenSpec(observed, candidate, clock.now()), signal);
        return { isHeld: true };
      } catch (error) {
        const { code } = asAgentError(error);
        const isGone = code === 'kube.not-found' && observed.object !== undefined;
        if (code !== 'kube.conflict' && !isGone) throw error;
      }
      await read(signal);
      const after = claim();
      if (!after.isFree) return { isHeld: false, ...after };
      return { isHeld: false, holder: '', pause: random.between(100, 1000) };
    },
    clear: async (signal) => {
      await read(signal);
      if (holder() !== identity) return;
      const { leaseTransitions = 0 } = specOf(observed.object);
      const now = microTime(clock.now());
      const none = { holderIdentity: '', leaseDurationSeconds: 1 };
      await write({ ...none, acquireTime: now, renewTime: now, leaseTransitions }, signal);
    },
  };
}

/** What the lease says once it is taken or renewed; as client-go counts transitions. */
function takenSpec({ object }: Observed, { identity, times }: Candidate, at: number): LeaseSpec {
  const now = microTime(at);
  const before = specOf(object);
  const isOurs = before.holderIdentity === identity;
  const transitions = before.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: times.duration / 1000,
    acquireTime: isOurs ? (before.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: isOurs || object === undefined ? transitions : transitions + 1,
  };
}

/** A Lease of coordination.k8s.io/v1, which may be anybody's. */
interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

const specOf = (object: KubeObject | undefined): LeaseSpec => Object(object?.['spec']) as LeaseSpec;

/** A time as Kubernetes' MicroTime: six digits behind the second. */
const microTime = (time: number): string => new Date(time).toISOString().replace('Z', '000Z');

/** What was read of the lease, and since when it says so, by our own clock. */
interface Observed {
  readonly object: KubeObject | undefined;
  readonly since: Millis;
}

type Claim =
  | { readonly isFree: true; readonly isExpired: boolean }
  | {
      readonly isFree: false;
      readonly holder: string;
      /** Until it is free unless it is renewed. */
      readonly pause: Millis;
    };

/** Whether a contender may take the lease now; the times that stand in it count for nothing. */
export function claimOf(
  { object, since }: Observed,
  { identity, pod, times }: Pick<Candidate, 'identity' | 'pod' | 'times'>,
  now: Millis,
): Claim {
  const { holderIdentity: holder = '', leaseDurationSeconds } = specOf(object);
  const isOurs = holder === identity || holder.startsWith(`${pod}_`);
  if (holder === '' || isOurs) return { isFree: true, isExpired: false };
  const duration =
    leaseDurationSeconds === undefined ? times.duration : seconds(leaseDurationSeconds);
  const pause = since + duration - now;
  return pause <= 0 ? { isFree: true, isExpired: true } : { isFree: false, holder, pause };
}
