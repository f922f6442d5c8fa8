import { undoStack, type UndoStack } from './cleanup.ts';
import { about, record, type RunContext } from './context.ts';
import { asAgentError, reportOf } from './failures.ts';
import type { PlacedStep } from './role.ts';
import { scopeOf } from './scope.ts';
import type { AnyStep, ProbeAnswer } from './step.ts';
import type { Stage } from '../model/stage.ts';

/** The values of the facts that a step needs, by the step's own names. */
export type Needs = Readonly<Record<string, unknown>>;

/** What the attempts of one step share. */
export interface Attempts {
  readonly needs: Needs;
  readonly signal: AbortSignal;
  /** Ask the world first whether an earlier run had come to the end of this step. */
  readonly probesFirst: boolean;
}

/** The stage a step stands on, and the text beside it. */
export const stageOf = <Config, Ports>(
  step: AnyStep<Config, Ports>,
  config: Config,
  needs: Needs,
): { readonly stage?: Stage; readonly stageInfo?: string } =>
  step.stage === undefined
    ? {}
    : { stage: step.stage, stageInfo: step.stageInfo?.(config, needs) ?? '' };

/**
 * Runs a step until it succeeds or its attempts are used up; returns what it gives.
 * @throws AgentError what the last attempt failed with
 */
export async function runAttempts<Config, Ports>(
  context: RunContext<Config, Ports>,
  placed: PlacedStep<Config, Ports>,
  { needs, signal, probesFirst }: Attempts,
): Promise<unknown> {
  const { step } = placed;
  if (probesFirst) {
    const answer = await probe(context, placed, { needs, signal });
    if (answer.isDone) {
      const stage = stageOf(step, context.config, needs);
      context.emit({ type: 'step.reused', ...about(placed), title: step.title, ...stage });
      return answer.fact;
    }
  }
  const flush = step.destroys === true || (step.rerun ?? 'safe') !== 'safe';
  await record(context, { type: 'started', step: step.id }, { flush });
  const { attempts: most, every } = step.retry ?? { attempts: 1, every: 0 };
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
      return await attemptOnce(context, placed, { needs, signal });
    } catch (thrown) {
      const error = asAgentError(thrown);
      if (signal.aborted || attempt >= most || error.isFinal) throw error;
      const failure = reportOf(error);
      context.emit({ type: 'step.retrying', ...about(placed), failure, attempt, attempts: most });
      await context.clock.sleep(every, signal);
    }
  }
}

type OneAttempt = Pick<Attempts, 'needs' | 'signal'>;

async function probe<Config, Ports>(
  context: RunContext<Config, Ports>,
  placed: PlacedStep<Config, Ports>,
  { needs, signal }: OneAttempt,
): Promise<ProbeAnswer<undefined>> {
  const undo = undoStack();
  const scope = scopeOf(context, placed, { signal, undo });
  const answer: unknown = await placed.step.probe?.(scope, needs);
  await unwind(context, placed, undo.unwind('success'));
  return (answer ?? { isDone: false }) as ProbeAnswer<undefined>;
}

async function attemptOnce<Config, Ports>(
  context: RunContext<Config, Ports>,
  placed: PlacedStep<Config, Ports>,
  { needs, signal }: OneAttempt,
): Promise<unknown> {
  const undo: UndoStack = undoStack();
  try {
    const value: unknown = await placed.step.run(scopeOf(context, placed, { signal, undo }), needs);
    await unwind(context, placed, undo.unwind('success'));
    return value;
  } catch (error) {
    await unwind(context, placed, undo.unwind('failure'));
    throw error;
  }
}

async function unwind<Config, Ports>(
  context: RunContext<Config, Ports>,
  placed: PlacedStep<Config, Ports>,
  undone: Promise<readonly unknown[]>,
): Promise<void> {
  for (const thrown of await undone) {
    const { code, message } = asAgentError(thrown);
    context.emit({
      type: 'note',
      ...about(placed),
      level: 'warn',
      message: 'what the step had set up could not be undone',
      fields: { code, reason: message },
    });
  }
}
