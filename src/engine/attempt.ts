import { about, noteFailure, orHalted, record, type RunContext } from './context.ts';
import type { AnyFact } from './fact.ts';
import { asAgentError, reportOf, withFirst } from './failures.ts';
import type { AgentError } from '../model/failure.ts';
import type { PlacedStep } from './role.ts';
import type { AnyStep, ProbeAnswer, Scope, World } from './step.ts';
import { untilOf } from './wait.ts';
import type { Stage } from '../model/stage.ts';

/** The values of the facts that a step needs, by the step's own names. */
export type Needs = Readonly<Record<string, unknown>>;

/** What the attempts of one step share. */
export interface Attempts {
  readonly needs: Needs;
  readonly signal: AbortSignal;
  /** Probe first whether an earlier run had finished this step. */
  readonly probesFirst: boolean;
}

/** The stage a step stands on, and the text beside it. */
export const stageOf = <W extends World>(
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
export async function runAttempts<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, signal, probesFirst }: Attempts,
): Promise<unknown> {
  const { step } = placed;
  if (probesFirst) {
    const work: StepWork<W> = async (scope) =>
      (await step.probe?.(scope, needs)) ?? { isDone: false };
    const answer = (await attemptOnce(context, placed, { signal, work })) as ProbeAnswer<undefined>;
    if (answer.isDone) {
      const stage = stageOf(step, context.config, needs);
      context.emit({ type: 'step.reused', ...about(placed), title: step.title, ...stage });
      return answer.fact;
    }
  }
  await record(context, { type: 'started', step: step.id }, { flush: mustBeKnown(step) });
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
    if (step.leaves === true) await context.beforeLeaving(signal);
    try {
      const work: StepWork<W> = (scope) => step.run(scope, needs);
      return await attemptOnce(context, placed, { signal, work });
    } catch (thrown) {
      const error = asAgentError(thrown);
      if (signal.aborted) throw error;
      if (attempt >= most || error.isFinal) throw withFirst(error, first);
      first ??= error;
      const failure = reportOf(error);
      context.emit({ type: 'step.retrying', ...about(placed), failure, attempt, attempts: most });
      await context.clock.sleep(every, signal);
    }
  }
}

/** Whether what an earlier run made is there; what cannot be looked at is not, and the step says why. */
export async function isKept<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { fact, signal }: { readonly fact: unknown; readonly signal: AbortSignal },
): Promise<boolean> {
  const { step } = placed;
  const gives = step.gives as AnyFact | undefined;
  const work: StepWork<W> = async (scope) =>
    step.isKept?.(scope, gives?.schema.parse(fact)) ?? true;
  try {
    return (await attemptOnce(context, placed, { signal, work })) === true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** Whether it must be on the disk that a step has begun, before it does. */
const mustBeKnown = <W extends World>({ destroys, rerun = 'safe' }: AnyStep<W>): boolean =>
  destroys === true || rerun !== 'safe';

/** One piece of work of a step: its body, or the probe for what an earlier run did. */
type StepWork<W extends World> = (scope: Scope<W, keyof W['ports']>) => Promise<unknown>;

/** Does the work and undoes what it registered, however it ended. */
async function attemptOnce<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { signal, work }: { readonly signal: AbortSignal; readonly work: StepWork<W> },
): Promise<unknown> {
  const undo = undoStack();
  try {
    const value = await work(scopeOf(context, placed, { signal, undo }));
    await unwind(context, placed, undo.unwind('success'));
    return value;
  } catch (error) {
    await unwind(context, placed, undo.unwind('failure'));
    throw error;
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
}

/** Builds what a step has at hand: its ports and no others, progress, waits, notes and undo. */
function scopeOf<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { signal, undo }: AttemptOwn,
): Scope<W, keyof W['ports']> {
  const who = about(placed);
  const named = Object.fromEntries(placed.step.uses.map((port) => [port, context.ports[port]]));
  return {
    ...(named as W['ports']),
    config: context.config,
    signal,
    progress: (progress) => {
      context.emit({ type: 'step.progress', ...who, progress });
    },
    alive: (doing) => {
      const text = doing === undefined ? {} : { doing };
      context.emit({ type: 'step.alive', ...who, ...text });
    },
    until: untilOf(context.clock, orHalted(context, signal), {
      updated: (update) => {
        context.emit({ type: 'wait.updated', ...who, ...update });
      },
      finished: (end) => {
        context.emit({ type: 'wait.finished', ...who, ...end });
      },
    }),
    note: (level, message, fields = {}) => {
      context.emit({ type: 'note', ...who, level, message, fields });
    },
    hide: context.hide,
    onExit: undo.push,
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
