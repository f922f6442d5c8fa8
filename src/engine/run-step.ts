// Invariants of running one step:
// 1. `started` is on the disk before a step that destroys;
// 2. `finished` is on the disk before the step's fact can be needed;
// 3. a step that was stopped because of another failure is `stopped`, never `failed`.
import { plainText } from '../lib/plain-text.ts';
import { renderDuration } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { Stage } from '../model/stage.ts';
import { isActive } from './condition.ts';
import { about, noteFailure, orHalted, record, type RunContext } from './context.ts';
import { type AnyFact, isOptional } from './fact.ts';
import { asAgentError, engineFailure, reportOf, withFirst } from './failures.ts';
import { limited } from './limit.ts';
import { isReused } from './resume.ts';
import type { PlacedStep } from './role.ts';
import type { AnyStep, World, Scope } from './step.ts';
import { reportRetries, untilOf, type WaitListener } from './wait.ts';

/** What became of a step that did not fail. A step that an earlier run finished is done. */
export type StepEnd = 'done' | 'skipped';

/**
 * Brings one step to its end: skips it, takes over what an earlier run finished, or runs it with
 * its retries under its limit.
 * @throws AgentError what the step failed with, or the reason it was stopped for
 */
export async function runStep<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  signal: AbortSignal,
): Promise<StepEnd> {
  const { step } = placed;
  const orEnded = orHalted(context, signal);
  orEnded.throwIfAborted();
  if (step.when !== undefined && !isActive(step.when, context.config)) {
    return skip(context, placed, `only when ${step.when.describe(context.config)}`);
  }
  const needs = await gather(context, step, orEnded);
  const needless = step.skipIf?.(needs, context.config);
  if (needless !== undefined) return skip(context, placed, needless);
  const earlier = context.past.get(step.id);
  if (earlier?.state === 'finished' && isReused(context.past, step, context.isBehindLoss)) {
    give(context, step, earlier.fact);
    const stage = stageOf(step, context.config, needs);
    context.emit({ type: 'step.reused', ...about(placed), title: step.title, ...stage });
    return 'done';
  }
  await execute(context, placed, { needs, signal });
  return 'done';
}

function skip<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  reason: string,
): StepEnd {
  context.emit({ type: 'step.skipped', ...about(placed), reason });
  return 'skipped';
}

function give<W extends World>(context: RunContext<W>, step: AnyStep<W>, value: unknown): void {
  const gives = step.gives as AnyFact | undefined;
  if (gives !== undefined) context.facts.give(gives.name, gives.schema.parse(value));
}

interface Execution {
  readonly needs: Needs;
  readonly signal: AbortSignal;
}

async function execute<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, signal }: Execution,
): Promise<void> {
  const { step } = placed;
  const since = context.clock.elapsed();
  const late = (): Error =>
    engineFailure('step.timed-out', `${step.id}: not within ${renderDuration(step.limit)}`, {
      context: { step: step.id },
    });
  try {
    const fact = await limited(context.clock, { limit: step.limit, signal, late }, (inner) =>
      runAttempts(context, placed, { needs, signal: inner }),
    );
    await recordFinished(context, placed, fact);
    give(context, step, fact);
  } catch (thrown) {
    await recordEnd(context, placed, { thrown, signal });
    throw signal.aborted ? signal.reason : asAgentError(thrown);
  }
  const duration = context.clock.elapsed() - since;
  context.emit({ type: 'step.finished', ...about(placed), duration });
}

/** A reboot takes the journal along: nothing depends on it then. */
async function recordFinished<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  given: unknown,
): Promise<void> {
  const fact = given ?? null;
  const { id, effect } = placed.step;
  try {
    await record(context, { type: 'finished', step: id, fact }, { flush: true });
  } catch (thrown) {
    if (effect !== 'leaves') throw thrown;
    noteFailure(context, placed, {
      message: 'the journal does not say that the host reboots',
      thrown,
    });
  }
}

/** Tells how a step ended that did not finish. A journal that cannot keep that hides no cause. */
async function recordEnd<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { thrown, signal }: { readonly thrown: unknown; readonly signal: AbortSignal },
): Promise<void> {
  const step = placed.step.id;
  try {
    if (signal.aborted) {
      context.emit({ type: 'step.stopped', ...about(placed) });
      await record(context, { type: 'stopped', step }, { flush: true });
      return;
    }
    const failure = reportOf(asAgentError(thrown));
    context.emit({ type: 'step.failed', ...about(placed), failure });
    const { code } = failure;
    const message = plainText(context.mask(failure.message));
    await record(context, { type: 'failed', step, code, message }, { flush: true });
  } catch (error) {
    const message = 'the journal does not say how the step ended';
    noteFailure(context, placed, { message, thrown: error });
  }
}

async function gather<W extends World>(
  context: RunContext<W>,
  step: AnyStep<W>,
  signal: AbortSignal,
): Promise<Needs> {
  const wanted = (step.needs ?? {}) as Readonly<Record<string, AnyFact>>;
  const needs: Record<string, unknown> = {};
  for (const [name, fact] of Object.entries(wanted)) {
    needs[name] = isOptional(fact)
      ? context.facts.given(fact.name)
      : await context.facts.need(fact.name, signal);
  }
  return needs;
}

/** The values of the facts that a step needs, by the step's own names. */
type Needs = Readonly<Record<string, unknown>>;

/** The stage a step stands on, and the text beside it. */
const stageOf = <W extends World>(
  step: AnyStep<W>,
  config: W['config'],
  needs: Needs,
): { readonly stage?: Stage; readonly stageInfo?: string } =>
  step.stage === undefined
    ? {}
    : { stage: step.stage, stageInfo: step.stageInfo?.(config, needs) ?? '' };

/**
 * Runs a step until it succeeds or its attempts are used up; returns what it gives.
 * @throws AgentError what the last attempt failed with
 */
async function runAttempts<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, signal }: Execution,
): Promise<unknown> {
  const { step } = placed;
  await record(context, { type: 'started', step: step.id }, { flush: step.effect === 'destroys' });
  const { attempts: most, every } = step.retry ?? { attempts: 1, every: 0 };
  let first: AgentError | undefined;
  for (let attempt = 1; ; attempt += 1) {
    context.emit({
      type: 'step.started',
      ...about(placed),
      title: step.title,
      attempt,
      ...stageOf(step, context.config, needs),
    });
    if (step.effect === 'leaves') await context.beforeLeaving(signal);
    try {
      return await attemptOnce(context, placed, { needs, signal });
    } catch (thrown) {
      const error = asAgentError(thrown);
      if (signal.aborted) throw error;
      if (attempt >= most || error.isFinal) throw withFirst(error, first);
      first ??= error;
      const failure = reportOf(error);
      context.emit({ type: 'step.retrying', ...about(placed), failure, attempt, attempts: most });
      await context.clock.sleep(every, orHalted(context, signal));
    }
  }
}

/** Runs the body of a step and undoes what it registered, however it ended. */
async function attemptOnce<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, signal }: Execution,
): Promise<unknown> {
  const undo = undoStack();
  const who = about(placed);
  const waits: WaitListener = {
    updated: (update) => context.emit({ type: 'wait.updated', ...who, ...update }),
    finished: (end) => context.emit({ type: 'wait.finished', ...who, ...end }),
  };
  const scope = scopeOf(context, placed, { signal, undo, waits });
  let isOver = false;
  // A step may begin requests that outlive it.
  const retries: WaitListener = {
    updated: (update) => (isOver ? undefined : waits.updated(update)),
    finished: (end) => (isOver ? undefined : waits.finished(end)),
  };
  try {
    const value: unknown = await reportRetries(retries, () => placed.step.run(scope, needs));
    await unwind(context, placed, undo.unwind('success'));
    return value;
  } catch (error) {
    await unwind(context, placed, undo.unwind('failure'));
    throw error;
  } finally {
    isOver = true;
  }
}

async function unwind<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  undone: Promise<readonly unknown[]>,
): Promise<void> {
  const message = 'could not undo what the step had set up';
  for (const thrown of await undone) noteFailure(context, placed, { message, thrown });
}

/** What one attempt has for itself. */
interface AttemptOwn {
  readonly signal: AbortSignal;
  readonly undo: UndoStack;
  readonly waits: WaitListener;
}

/** Builds what a step has at hand: its ports and no others, progress, waits, notes and undo. */
function scopeOf<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { signal, undo, waits }: AttemptOwn,
): Scope<W, keyof W['ports']> {
  const { config, emit, hide, mask } = context;
  const who = about(placed);
  const named = Object.fromEntries(placed.step.uses.map((port) => [port, context.ports[port]]));
  return {
    ...(named as W['ports']),
    config,
    signal,
    hide,
    mask,
    onExit: undo.push,
    progress: (progress) => {
      emit({ type: 'step.progress', ...who, progress });
    },
    alive: (doing) => {
      const text = doing === undefined ? {} : { doing };
      emit({ type: 'step.alive', ...who, ...text });
    },
    until: untilOf(context.clock, orHalted(context, signal), waits),
    note: (level, message, fields = {}) => emit({ type: 'note', ...who, level, message, fields }),
  };
}

/** When an undo runs: whenever the step ends, or only when it fails. */
type UndoWhen = 'always' | 'failure';

/** What a step registered to be undone. */
interface UndoStack {
  readonly push: (undo: () => Promise<void>, when: UndoWhen) => void;
  /** Runs what applies, last registered first; every one runs, and what they threw is returned. */
  readonly unwind: (outcome: 'success' | 'failure') => Promise<readonly unknown[]>;
}

/** An empty stack. */
function undoStack(): UndoStack {
  const registered: { undo: () => Promise<void>; when: UndoWhen }[] = [];
  return {
    push: (undo, when) => {
      registered.push({ undo, when });
    },
    unwind: async (outcome) => {
      const thrown: unknown[] = [];
      for (const { undo, when } of registered.splice(0).reverse()) {
        if (when === 'failure' && outcome === 'success') continue;
        try {
          await undo();
        } catch (error) {
          thrown.push(error);
        }
      }
      return thrown;
    },
  };
}
