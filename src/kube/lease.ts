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

/** Whether a lost lease has aborted a signal: the objects that a successor needs must stay then. */
export const isLeaseLost = (reason: unknown): boolean =>
  reason instanceof AgentError && reason.code === 'controller.lease-lost';

/** A program that competes for the lease. */
export interface Contender {
  /** Name and namespace of the lease. */
  readonly lease: string;
  readonly namespace: string;
  /**
   * Id of its own pod. A lease held by an earlier process of this pod is free, since that process
   * has ended.
   */
  readonly pod: string;
  readonly isSingleNode: boolean;
  /** OpenShift's recommended times by default. */
  readonly times?: LeaseTimes;
}

/** A held lease, which is renewed until it is released. */
export interface HeldLease {
  /**
   * Aborts when another program holds it, or may hold it soon because it could not be renewed in
   * time.
   */
  readonly lost: AbortSignal;
  /** Ends the renewals and clears the holder, so that others may take it at once. */
  readonly release: () => Promise<void>;
}

type LeaseScope = Pick<Ports, 'kube' | 'clock' | 'random'> & {
  readonly signal: AbortSignal;
  readonly note: Note;
};

/** Duration and renewal of a lease. */
export interface LeaseTimes {
  /** A lease that is not renewed for this long is free. */
  readonly duration: Millis;
  /** A holder that could not renew it for this long has lost it. */
  readonly renewDeadline: Millis;
  readonly retryPeriod: Millis;
}

/**
 * OpenShift's recommendation, with which an API server may be away for 78 seconds, and for 180 on a
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

/** A program that stops has four seconds in total. */
const releaseLimit: Millis = seconds(1);

/**
 * Waits until this controller holds its lease, by the rules of client-go (`tools/leaderelection`):
 * a lease of another holder is free when it was not renewed for its duration on our own clock, and
 * each write names the resourceVersion that it changes. The log names the holder meanwhile. Where
 * RBAC forbids leases, as the role of assisted-installer-controller does, the controller runs
 * without a lease and tries again at each renewal: an API server that has just started may not know
 * its roles yet.
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
 * @param since start of the write that took the lease; undefined while RBAC forbids it
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
  /** Resolves with the reason of the loss. */
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
  /** Empty if the lease has no holder but changed during the write. */
  readonly holder: string;
  /** Pause before another attempt. */
  readonly pause: Millis;
}

/** The lease at the API server, as one contender sees it. */
interface LeaseRecord {
  readonly identity: string;
  /** Takes or renews the lease if it is free; undefined on success. */
  readonly attempt: (signal: AbortSignal) => Promise<Refusal | undefined>;
  /** Clears the holder. */
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
  /** Time on our own clock since which its content has not changed. */
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

/** Spec of a Lease (coordination.k8s.io/v1) of any holder. */
interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

const specOf = (object: KubeObject | undefined): LeaseSpec => Object(object?.['spec']) as LeaseSpec;

/** Whether it has no holder, or an earlier process of this pod holds it, which has ended. */
const isFreeFor = (pod: string, holder: string): boolean =>
  holder === '' || holder.startsWith(`${pod}_`);

/** Duration of a lease after its renewal; the timestamps in its spec are ignored. */
function durationOf(object: KubeObject | undefined, usually: Millis): Millis {
  const { leaseDurationSeconds } = specOf(object);
  return leaseDurationSeconds === undefined ? usually : seconds(leaseDurationSeconds);
}

/** The spec after taking or renewing a lease; transitions are counted as in client-go. */
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

/** A time in Kubernetes' MicroTime format: six digits after the second. */
const microTime = (time: number): string => new Date(time).toISOString().replace('Z', '000Z');
