import { type Millis, seconds } from '../model/duration.ts';
import type { Clock } from '../ports/clock.ts';

/** Result of a key's run. */
export interface Result {
  /** Time after which the key runs again even without a change; never by default. */
  readonly after?: Millis | undefined;
  /** The condition that the key waits for, for people; none by default. */
  readonly status?: string | undefined;
}

/**
 * Brings the object of a key to its desired state. It is idempotent, and begins with the observed
 * state.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<Result>;

export interface QueueOptions {
  readonly reconcile: Reconcile;
  /** The most keys that run at once; 8 by default. */
  readonly atOnce?: number | undefined;
  /**
   * The shortest time between two runs of a key, in which its events are merged; none by default.
   */
  readonly settle?: Millis | undefined;
  /** Called after a failed run; the key runs again after the pause. */
  readonly failed: (key: string, error: unknown, pause: Millis) => void;
}

/** Keys that wait for their run. */
export interface Queue {
  /**
   * Runs a key, at once or after a time; of several times the earliest counts. A running key runs
   * again afterwards; a key in its back-off runs at the end of the back-off.
   */
  readonly add: (key: string, after?: Millis) => void;
  /** Aborts the running keys and waits for them; no key runs afterwards. */
  readonly close: () => Promise<void>;
  /** Number of keys that run, that are due and wait for their turn, and that are due later. */
  readonly size: () => { readonly running: number; readonly due: number; readonly later: number };
}

/** Back-off of a key after failures, doubled each time. */
const backOff = { first: seconds(1), longest: seconds(30) } as const;

/** A key that runs, waits, or is in its back-off. */
interface Entry {
  isRunning: boolean;
  /** Time of its next run; undefined while none is requested. */
  dueAt: Millis | undefined;
  /** The earliest time of its next run. */
  notBefore: Millis;
  failures: number;
  /** Ends the sleep until the key is due, or may be forgotten. */
  wake?: AbortController;
}

/**
 * A queue of keys, each of which runs at most once at a time (controller-runtime, `workqueue`). No
 * key is dropped: a key that is added while it runs, runs again. The state of a key is deleted once
 * no run is requested.
 */
export function keyQueue(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  options: QueueOptions,
): Queue {
  const { atOnce = 8 } = options;
  const closing = new AbortController();
  const inner = AbortSignal.any([signal, closing.signal]);
  const entries = new Map<string, Entry>();
  const ready = new Set<string>();
  const running = new Set<Promise<void>>();

  /** Runs a key that is due, sleeps until it is, or deletes one without a requested run. */
  const proceed = (key: string, entry: Entry): void => {
    if (entry.isRunning || ready.has(key) || inner.aborted) return;
    const { dueAt, notBefore } = entry;
    const at = Math.max(dueAt ?? 0, notBefore);
    if (at > clock.elapsed()) {
      sleepUntil(clock, entry, at, () => proceed(key, entry));
    } else if (dueAt === undefined) {
      entries.delete(key);
    } else {
      ready.add(key);
      pump();
    }
  };

  const pump = (): void => {
    for (const key of ready) {
      if (running.size >= atOnce || inner.aborted) return;
      ready.delete(key);
      const entry = entries.get(key);
      if (entry === undefined) continue;
      entry.wake?.abort(new Error('it runs'));
      const run = attempt(key, entry, { clock, signal: inner, ...options }).finally(() => {
        running.delete(run);
        pump();
        proceed(key, entry);
      });
      running.add(run);
    }
  };

  const wakeNone = (): void => {
    for (const { wake } of entries.values()) wake?.abort(new Error('the queue is closed'));
  };
  inner.addEventListener('abort', wakeNone, { once: true });

  return {
    add: (key, after = 0) => {
      if (inner.aborted) return;
      const entry = entries.get(key) ?? {
        isRunning: false,
        dueAt: undefined,
        notBefore: 0,
        failures: 0,
      };
      entries.set(key, entry);
      ask(entry, clock.elapsed() + after);
      proceed(key, entry);
    },
    close: async () => {
      closing.abort(new Error('the queue is closed'));
      await Promise.all(running);
    },
    size: () => sizeOf(entries, ready),
  };
}

function sizeOf(
  entries: ReadonlyMap<string, Entry>,
  ready: ReadonlySet<string>,
): ReturnType<Queue['size']> {
  const resting = [...entries].filter(([key, { isRunning }]) => !isRunning && !ready.has(key));
  return {
    running: entries.size - resting.length - ready.size,
    due: ready.size,
    later: resting.filter(([, { dueAt }]) => dueAt !== undefined).length,
  };
}

/** Of several sleeps of an entry the last one counts. */
function sleepUntil(clock: Clock, entry: Entry, at: Millis, woken: () => void): void {
  entry.wake?.abort(new Error('another time counts'));
  const wake = new AbortController();
  entry.wake = wake;
  const wakeUp = (): void => {
    if (entry.wake === wake) woken();
  };
  clock.sleep(at - clock.elapsed(), wake.signal).then(wakeUp, () => undefined);
}

/** Runs a key once, and records the earliest time of its next run. */
async function attempt(
  key: string,
  entry: Entry,
  {
    clock,
    signal,
    reconcile,
    settle = 0,
    failed,
  }: QueueOptions & { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  entry.isRunning = true;
  entry.dueAt = undefined;
  try {
    const { after } = await reconcile(key, signal);
    entry.failures = 0;
    entry.notBefore = clock.elapsed() + settle;
    if (after !== undefined) ask(entry, clock.elapsed() + after);
  } catch (error) {
    if (signal.aborted) return;
    const pause = Math.min(backOff.longest, backOff.first * 2 ** entry.failures);
    entry.failures += 1;
    entry.notBefore = clock.elapsed() + pause;
    ask(entry, entry.notBefore);
    failed(key, error, pause);
  } finally {
    entry.isRunning = false;
  }
}

const ask = (entry: Entry, at: Millis): void => {
  entry.dueAt = Math.min(entry.dueAt ?? at, at);
};
