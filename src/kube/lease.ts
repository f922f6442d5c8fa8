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
  const lease = leaseRecord(scope, contender, `${contender.pod}_${random.uuid()}`, times);
  let noted = '';
  const noteOnce = (message: string, holder: string): void => {
    if (noted !== message + holder) note('info', message, { holder });
    noted = message + holder;
  };
  for (;;) {
    const since = clock.elapsed();
    let pause = random.between(times.retryPeriod, times.retryPeriod * 1.2);
    try {
      const refusal = await lease.attempt(signal);
      if (refusal === undefined) {
        note('info', heldText, { identity: lease.identity });
        return renewed(scope, lease, times, since);
      }
      if (refusal.holder !== '') noteOnce('another controller holds the lease', refusal.holder);
      pause = Math.min(pause, refusal.pause);
    } catch (error) {
      signal.throwIfAborted();
      if (isForbidden(error)) {
        const reason = error.message;
        note('info', 'RBAC forbids leases; running without leader election', { reason });
        return renewed(scope, lease, times, undefined);
      }
      noteOnce('the lease cannot be taken: trying again', asAgentError(error).code);
    }
    await clock.sleep(pause, signal);
  }
}

const heldText = 'the lease is held';

/**
 * Renews a lease until it is released or lost.
 * @param since when the write began by which it is held; undefined while RBAC forbids it
 */
function renewed(
  { clock, signal, note }: LeaseScope,
  lease: LeaseRecord,
  times: LeaseTimes,
  since: Millis | undefined,
): HeldLease {
  let isHeld = since !== undefined;
  const lost = new AbortController();
  const released = new AbortController();
  const stop = AbortSignal.any([signal, released.signal]);
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
        const refusal = await limited(clock, { limit, signal: stop, late }, lease.attempt);
        if (refusal !== undefined && refusal.holder !== '') return `${refusal.holder} holds it`;
        if (refusal === undefined && !isHeld) note('info', heldText);
        isHeld ||= refusal === undefined;
        if (refusal === undefined) deadline = began + times.renewDeadline;
        else pause = refusal.pause;
      } catch {
        stop.throwIfAborted();
      }
    }
  };
  const ended = renewUntilLost().then(
    (reason) => {
      note('warn', 'the lease is lost', { reason });
      lost.abort(leaseFailure('controller.lease-lost', `the lease is lost: ${reason}`));
    },
    () => undefined,
  );
  return {
    lost: lost.signal,
    release: async () => {
      released.abort(new Error('the lease is released'));
      await ended;
      if (!isHeld) return;
      const limit = { limit: releaseLimit, signal: new AbortController().signal, late };
      await limited(clock, limit, lease.clear).catch((error: unknown) => {
        note('info', 'the lease could not be released', { reason: asAgentError(error).message });
      });
    },
  };
}

/** Why a contender does not have the lease. */
interface Refusal {
  /** Empty: nobody holds it, but it changed while it was written. */
  readonly holder: string;
  /** Until it is worth another attempt. */
  readonly pause: Millis;
}

/** The lease at the API server, as one contender sees it. */
interface LeaseRecord {
  readonly identity: string;
  /** Takes or renews it if it is free; undefined where that succeeds. */
  readonly attempt: (signal: AbortSignal) => Promise<Refusal | undefined>;
  /** Says that nobody holds it. */
  readonly clear: (signal: AbortSignal) => Promise<void>;
}

function leaseRecord(
  { kube, clock, random, note }: LeaseScope,
  { lease: name, namespace, pod }: Contender,
  identity: string,
  times: LeaseTimes,
): LeaseRecord {
  const ref: KubeRef = { kind: leases, namespace, name };
  let object: KubeObject | undefined;
  /** Since when it says what it says, by our own clock. */
  let since = clock.elapsed();
  const observe = (now: KubeObject | undefined): void => {
    if (JSON.stringify(now?.['spec']) !== JSON.stringify(object?.['spec'])) since = clock.elapsed();
    object = now;
  };
  const read = async (signal: AbortSignal): Promise<void> => observe(await kube.get(ref, signal));
  const write = async (spec: LeaseSpec, signal: AbortSignal): Promise<void> => {
    const made = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec };
    observe(
      object === undefined
        ? await kube.create({ kind: leases, namespace }, made, signal)
        : await kube.replace(ref, { ...object, spec }, { signal }),
    );
  };
  const holder = (): string => specOf(object).holderIdentity ?? '';
  const refusal = (): Refusal | undefined => {
    const pause = isFreeFor(pod, holder())
      ? 0
      : since + durationOf(object, times.duration) - clock.elapsed();
    return pause > 0 ? { holder: holder(), pause } : undefined;
  };
  return {
    identity,
    attempt: async (signal) => {
      if (holder() !== identity) await read(signal);
      const before = refusal();
      if (before !== undefined) return before;
      if (!isFreeFor(pod, holder()))
        note('warn', 'the lease is taken over: it was not renewed', { holder: holder() });
      try {
        await write(takenSpec(object, identity, times, microTime(clock.now())), signal);
        return undefined;
      } catch (error) {
        const { code } = asAgentError(error);
        const isGone = code === 'kube.not-found' && object !== undefined;
        if (code !== 'kube.conflict' && !isGone) throw error;
      }
      await read(signal);
      return refusal() ?? { holder: '', pause: random.between(100, 1000) };
    },
    clear: async (signal) => {
      await read(signal);
      if (holder() !== identity) return;
      const now = microTime(clock.now());
      const spec = {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: specOf(object).leaseTransitions ?? 0,
      };
      await write(spec, signal);
    },
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

/** Nobody holds it, or a process of this pod: another one than this has ended. */
const isFreeFor = (pod: string, holder: string): boolean =>
  holder === '' || holder.startsWith(`${pod}_`);

/** How long a lease holds after its renewal; the times that it says itself count for nothing. */
function durationOf(object: KubeObject | undefined, usually: Millis): Millis {
  const { leaseDurationSeconds } = specOf(object);
  return leaseDurationSeconds === undefined ? usually : seconds(leaseDurationSeconds);
}

/** What the lease says once it is taken or renewed; as client-go counts transitions. */
function takenSpec(
  object: KubeObject | undefined,
  identity: string,
  { duration }: LeaseTimes,
  now: string,
): LeaseSpec {
  const { holderIdentity, acquireTime, leaseTransitions = 0 } = specOf(object);
  const isOurs = holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: duration / 1000,
    acquireTime: isOurs ? (acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: isOurs || object === undefined ? leaseTransitions : leaseTransitions + 1,
  };
}

/** A time as Kubernetes' MicroTime: six digits behind the second. */
const microTime = (time: number): string => new Date(time).toISOString().replace('Z', '000Z');
