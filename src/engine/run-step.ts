// Invariants of running one step:
// 1. `started` is on the disk before a step that destroys or may not simply run again;
// 2. `finished` is on the disk before the step's fact can be needed;
// 3. a step that was stopped because of another failure is `stopped`, never `failed`.
import { plainText } from '../lib/plain-text.ts';
import { renderDuration } from '../model/duration.ts';
import { isKept, type Needs, runAttempts, stageOf } from './attempt.ts';
import { isActive, renderCondition } from './condition.ts';
import { about, noteFailure, orHalted, record, type RunContext } from './context.ts';
import { asAgentError, engineFailure, reportOf } from './failures.ts';
import { type AnyFact, isOptional } from './fact.ts';
import { limited } from './limit.ts';
import { decideStep } from './resume.ts';
import type { PlacedStep } from './role.ts';
import type { AnyStep, World } from './step.ts';

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
    return skip(context, placed, `only when ${renderCondition(step.when, context.config)}`);
  }
  const needs = await gather(context, step, orEnded);
  const needless = step.skipIf?.(needs, context.config);
  if (needless !== undefined) return skip(context, placed, needless);
  const earlier = context.past.get(step.id);
  const action = decideStep(context.past, step);
  const fact = earlier?.state === 'finished' ? earlier.fact : undefined;
  if (action === 'reuse' && (await isKept(context, placed, { fact, signal }))) {
    takeOver(context, placed, { needs, fact });
    return 'done';
  }
  await execute(context, placed, { needs, signal, probesFirst: action === 'probe' });
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

function takeOver<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, fact }: { readonly needs: Needs; readonly fact: unknown },
): void {
  const { step } = placed;
  give(context, step, fact);
  const stage = stageOf(step, context.config, needs);
  context.emit({ type: 'step.reused', ...about(placed), title: step.title, ...stage });
}

function give<W extends World>(context: RunContext<W>, step: AnyStep<W>, value: unknown): void {
  const gives = step.gives as AnyFact | undefined;
  if (gives !== undefined) context.facts.give(gives.name, gives.schema.parse(value));
}

interface Execution {
  readonly needs: Needs;
  readonly signal: AbortSignal;
  readonly probesFirst: boolean;
}

async function execute<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  { needs, signal, probesFirst }: Execution,
): Promise<void> {
  const { step } = placed;
  const since = context.clock.elapsed();
  const late = (): Error =>
    engineFailure('step.timed-out', `${step.id}: not within ${renderDuration(step.limit)}`, {
      context: { step: step.id },
    });
  try {
    const fact = await limited(context.clock, { limit: step.limit, signal, late }, (inner) =>
      runAttempts(context, placed, { needs, signal: inner, probesFirst }),
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

/** A host that is left takes its journal along: nothing depends on what that says then. */
async function recordFinished<W extends World>(
  context: RunContext<W>,
  placed: PlacedStep<W>,
  given: unknown,
): Promise<void> {
  const fact = given ?? null;
  const { id, leaves = false } = placed.step;
  try {
    await record(context, { type: 'finished', step: id, fact }, { flush: true });
  } catch (thrown) {
    if (!leaves) throw thrown;
    noteFailure(context, placed, {
      message: 'the journal does not say that the host is left',
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
