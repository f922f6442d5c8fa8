import { type Emit, notesOf } from '../engine/events.ts';
import { asAgentError, reportOf } from '../engine/failures.ts';
import { unlimited } from '../model/duration.ts';
import { version } from '../model/version.ts';
import { isConflict } from '../ports/kube-failures.ts';
import type { Ports } from '../ports/ports.ts';
import type { Informer } from './informer.ts';
import { type Contender, type HeldLease, holdLease, isLeaseLost } from './lease.ts';
import { keyQueue, type Queue, type QueueOptions, type Reconcile } from './queue.ts';

/** A control loop that keeps objects of one kind at their desired state, key by key. */
export interface Controller extends Pick<QueueOptions, 'atOnce' | 'settle'> {
  /** `node-controller/drain-nodes`: its name in logs, metrics and spans. */
  readonly id: string;
  readonly title: string;
  /** Description of a key in the log: `status of pool worker`. */
  readonly about: (key: string) => string;
  /** Status while no key waits. */
  readonly idle: string;
  /** Its informers; it decides nothing while one of them has a gap. */
  readonly reads: readonly Pick<Informer, 'gap' | 'onGap' | 'run'>[];
  /** All current keys: added at the start, and after each gap. */
  readonly keys: () => readonly string[];
  /** Subscribes to the events that add keys; called once, before the informers run. */
  readonly watch: (add: Queue['add']) => void;
  readonly reconcile: Reconcile;
  /**
   * Reverts, at the end, changes that must not outlive the program. Not called after a lost lease:
   * a successor needs the changes.
   */
  readonly takeBack?: () => Promise<void>;
}

/** The controllers of one program. */
export interface Controllers {
  /** Name of the program in logs and metrics, such as `node-controller`. */
  readonly name: string;
  readonly controllers: readonly Controller[];
  /** Without a lease the program does not coordinate with others. */
  readonly lease?: Contender;
  /** Called with the queue of each controller once it works. */
  readonly queueOpened?: ((id: string, size: Queue['size']) => void) | undefined;
  /** The controllers end with this work; without it they run until the signal aborts. */
  readonly until?: (signal: AbortSignal) => Promise<void>;
}

type ManagerScope = Pick<Ports, 'kube' | 'clock' | 'random'> & {
  readonly emit: Emit;
  readonly signal: AbortSignal;
};

/**
 * Emits the beginning and the end of a run.
 * @throws errors of the work; the signal's reason
 */
export async function asRun(
  { clock, emit, signal }: Pick<ManagerScope, 'clock' | 'emit' | 'signal'>,
  { name: role, steps }: { readonly name: string; readonly steps: number },
  work: () => Promise<void>,
): Promise<void> {
  const since = clock.elapsed();
  emit({ type: 'run.started', role, version, isResumed: false, steps });
  try {
    await work();
    emit({ type: 'run.finished', outcome: 'finished', duration: clock.elapsed() - since });
  } catch (thrown) {
    const duration = clock.elapsed() - since;
    if (!signal.aborted) {
      const error = asAgentError(thrown);
      emit({ type: 'run.failed', failure: reportOf(error), duration });
      throw error;
    }
    emit({ type: 'run.stopped', reason: asAgentError(signal.reason).message, duration });
    throw signal.reason;
  }
}

/**
 * Runs controllers until the signal aborts: first their informers, then the lease, then the queues.
 * A stop has the reverse order, and waits for running keys. A lost lease aborts everything at once,
 * and reverts nothing. A failed key does not stop the others.
 * @throws the signal's reason; AgentError `controller.lease-lost`, or a fatal error of an informer
 */
export const runControllers = (scope: ManagerScope, all: Controllers): Promise<void> =>
  asRun(scope, { name: all.name, steps: all.controllers.length }, () =>
    startControllers(scope, all),
  );

/** The same without the events of a run, for a caller that emits its own. */
export async function startControllers(scope: ManagerScope, all: Controllers): Promise<void> {
  const { emit, signal } = scope;
  const { name, controllers, lease: contender } = all;
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  const fail = (reason: unknown): void => {
    ended.reject(reason);
    stop.abort(reason);
  };
  forward(signal, fail);
  const starts = controllers.map((controller) =>
    hosted({ ...scope, signal: stop.signal }, controller),
  );
  const followings = new AbortController();
  const followed = new Set(controllers.flatMap(({ reads }) => reads));
  const following = [...followed].map(({ run }) => run(followings.signal).catch(fail));
  let lease: HeldLease | undefined;
  let queues: readonly Queue[] = [];
  let ending: Promise<void> | undefined;
  try {
    if (contender !== undefined) {
      const note = notesOf(emit, `${name}/hold-lease`);
      lease = await holdLease({ ...scope, signal: stop.signal, note }, contender);
      forward(lease.lost, fail);
    }
    queues = starts.map((start) => start());
    queues.forEach(({ size }, index) => all.queueOpened?.(controllers[index]?.id ?? '', size));
    ending = all.until?.(stop.signal).then(ended.resolve, fail);
    await ended.promise;
  } finally {
    await ending;
    await Promise.all(queues.map(({ close }) => close()));
    if (!isLeaseLost(stop.signal.reason)) await takeBackAll(scope, controllers);
    for (const { id } of queues.length > 0 ? controllers : [])
      emit({ type: 'step.stopped', step: id });
    await lease?.release();
    followings.abort(new Error('the controllers have ended'));
    await Promise.all(following);
  }
}

async function takeBackAll({ emit }: ManagerScope, controllers: readonly Controller[]) {
  for (const { id, takeBack } of controllers) {
    await takeBack?.().catch((error: unknown) => {
      const { code, message: reason } = asAgentError(error);
      notesOf(emit, id)('warn', 'could not undo what must not outlive it', { code, reason });
    });
  }
}

function forward(signal: AbortSignal, fail: (reason: unknown) => void): void {
  if (signal.aborted) fail(signal.reason);
  signal.addEventListener('abort', () => fail(signal.reason), { once: true });
}

/** Subscribes a controller to its informers; the returned function starts its queue. */
function hosted({ clock, emit, signal }: ManagerScope, controller: Controller): () => Queue {
  const { id: step, title, reads, reconcile, atOnce, settle } = controller;
  const note = notesOf(emit, step);
  const noted = new Map<string, string>();
  const shown = controllerStatus({ clock, emit }, controller);
  let queue: Queue | undefined;
  const gapNow = (): string | undefined =>
    reads.map(({ gap }) => gap()?.reason).find((reason) => reason !== undefined);
  const addAll = (): void => {
    for (const key of queue === undefined ? [] : controller.keys()) queue?.add(key);
  };
  const held = new Set<string>();
  const gapChanged = (): void => {
    if (queue === undefined) return;
    const gap = gapNow();
    shown.gap(gap);
    if (gap !== undefined) return;
    const before = [...held];
    held.clear();
    for (const key of before) queue.add(key);
    addAll();
  };
  controller.watch((key, after) => queue?.add(key, after));
  for (const { onGap } of reads) onGap(gapChanged);
  const guarded: Reconcile = async (key, inner) => {
    if (gapNow() !== undefined) {
      held.add(key);
      return {};
    }
    const result = await reconcile(key, inner);
    noted.delete(key);
    shown.key(key, result.status);
    return result;
  };
  const failed: QueueOptions['failed'] = (key, error) => {
    const { code, message } = asAgentError(error);
    // Another program has written meanwhile: the next run decides by the new state.
    const level = isConflict(error) ? 'info' : 'warn';
    if (noted.get(key) !== code)
      note(level, `${controller.about(key)}: trying again`, { code, reason: message });
    noted.set(key, code);
    if (level === 'warn') shown.key(key, `${controller.about(key)}: ${code}`);
  };
  return () => {
    emit({ type: 'step.started', step, title, attempt: 1 });
    queue = keyQueue({ clock, signal }, { reconcile: guarded, failed, atOnce, settle });
    shown.gap(gapNow());
    addAll();
    return queue;
  };
}

/** The most keys that a status names. */
const mostNamed = 10;

/** The status of a controller: its waiting keys in one text, emitted at each change. */
function controllerStatus(
  { clock, emit }: Pick<ManagerScope, 'clock' | 'emit'>,
  { id, idle, title }: Controller,
) {
  const since = clock.elapsed();
  const statuses = new Map<string, string>();
  let gap: string | undefined;
  let emitted: string | undefined;
  const show = (): void => {
    const all = [...statuses.values()];
    const rest = all.length > mostNamed ? [`and ${all.length - mostNamed} more`] : [];
    const named = [...all.slice(0, mostNamed), ...rest].join('; ');
    const status = gap ?? (named === '' ? idle : named);
    if (status === emitted) return;
    emitted = status;
    const waited = clock.elapsed() - since;
    emit({ type: 'wait.updated', step: id, sentence: title, status, waited, limit: unlimited });
  };
  return {
    gap: (reason: string | undefined): void => {
      gap = reason;
      show();
    },
    key: (key: string, status: string | undefined): void => {
      if (status === undefined) statuses.delete(key);
      else statuses.set(key, status);
      show();
    },
  };
}
