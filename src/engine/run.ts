// Invariants of a run:
// 1. the first failure wins: parallel steps are stopped, and only the first failure is thrown;
// 2. `follow` and `always` never change the end of a run, nor does a journal that is not kept;
// 3. a failure is emitted before `always` runs, whose steps may take long or be stopped;
// 4. no step runs after the step that leaves the host.
import type { AgentError } from '../model/failure.ts';
import { type Emit, notesOf, type RunEvent, type Sink, type StagedLane } from './events.ts';
import { asAgentError, reportOf } from './failures.ts';
import { factStore } from './fact.ts';
import { type Journal, type JournalHeader, renderRecord } from './journal.ts';
import { decideResume, hasDestroyed, type StepRecords } from './resume.ts';
import { activeSteps, isLanes, type Item, type Lanes, linesFor, type Role } from './role.ts';
import { type RunContext, StepRun } from './run-step.ts';
import type { AnyStep, World } from './step.ts';
import { reportRetries, silently } from './wait.ts';

/** Inputs of a run. */
export interface RunOptions<W extends World>
  extends
    Pick<RunContext<W>, 'config' | 'ports' | 'clock' | 'journal' | 'halt'>,
    Partial<Pick<RunContext<W>, 'beforeLeaving' | 'mask' | 'hide'>> {
  readonly role: Role<W>;
  readonly header: Omit<JournalHeader, 'type' | 'v' | 'role'>;
  /** The id of this run in events. */
  readonly run: string;
  readonly sinks: readonly Sink[];
  /** Stops the run from outside. */
  readonly signal: AbortSignal;
  /** Adds to the failure that ends the run what only the program around it knows. */
  readonly explain?: (failure: AgentError) => AgentError;
}

/** End of a run that did not fail. */
export type RunOutcome = 'finished' | 'left the host';

/**
 * Runs a role to its end, from its first step or from the last entry of its journal.
 * @throws AgentError the first failure; or the signal's reason if the run was stopped from outside
 */
export async function runRole<W extends World>(options: RunOptions<W>): Promise<RunOutcome> {
  const { role, config, ports, clock, journal, signal, halt } = options;
  const { explain = (failure) => failure } = options;
  const emit = emitter(options);
  const since = clock.elapsed();
  const ended = (thrown: unknown): unknown => {
    const duration = clock.elapsed() - since;
    if (signal.aborted) {
      emit({ type: 'run.stopped', reason: asAgentError(signal.reason).message, duration });
      return signal.reason;
    }
    const error = explain(asAgentError(thrown));
    emit({ type: 'run.failed', failure: reportOf(error), duration });
    return error;
  };
  const past = await openJournal(options, emit).catch((thrown: unknown) => {
    throw ended(thrown);
  });
  const context: RunContext<W> = {
    config,
    ports,
    clock,
    journal,
    past,
    hasStartedWriting: hasDestroyed(role, past),
    emit,
    halt,
    facts: factStore(),
    beforeLeaving: options.beforeLeaving ?? (() => Promise.resolve()),
    mask: options.mask ?? ((text) => text),
    hide: options.hide ?? (() => undefined),
  };
  emit({
    type: 'run.started',
    role: role.name,
    version: options.header.version,
    isResumed: past.size > 0,
    steps: activeSteps(role, config).length,
  });
  const background = new AbortController();
  const following = runAside(
    context,
    role.follow ?? [],
    AbortSignal.any([signal, background.signal]),
  );
  try {
    const outcome = await runMainLine(context, role, signal);
    emit({ type: 'run.finished', outcome, duration: clock.elapsed() - since });
    return outcome;
  } catch (thrown) {
    const error = ended(thrown);
    if (!signal.aborted) await runAlways(context, role, signal);
    throw error;
  } finally {
    background.abort(new Error('the run has ended'));
    await following;
  }
}

function emitter<W extends World>({ clock, run, sinks }: RunOptions<W>): Emit {
  return (body) => {
    const event: RunEvent = { ...body, at: clock.now(), run };
    // A sink may start its own requests, which are not part of the step.
    reportRetries(silently, () => {
      for (const sink of sinks) sink(event);
    });
  };
}

async function openJournal<W extends World>(
  { journal, header, role }: RunOptions<W>,
  emit: Emit,
): Promise<StepRecords> {
  const wanted: JournalHeader = { type: 'header', v: 1, role: role.name, ...header };
  const decision = decideResume(await journal.read(), wanted);
  if (decision.kind === 'resume') return decision.past;
  if (decision.kind === 'set-aside') {
    await journal.setAside();
    const message = 'set aside the journal of an earlier run; starting from the first step';
    notesOf(emit, 'engine/open-journal')('info', message, { because: decision.because });
  }
  await journal.append(renderRecord(wanted), { flush: true });
  return new Map();
}

async function runMainLine<W extends World>(
  context: RunContext<W>,
  role: Role<W>,
  signal: AbortSignal,
): Promise<RunOutcome> {
  for (const item of linesFor(role, context.config)) {
    if (!isLanes(item) && item.effect === 'leaves') {
      await runAlways(context, role, signal);
      const end = await new StepRun(context, { step: item }).run(signal);
      return end === 'skipped' ? 'finished' : 'left the host';
    }
    await runItem(context, item, signal);
  }
  await runAlways(context, role, signal);
  return 'finished';
}

async function runItem<W extends World>(
  context: RunContext<W>,
  item: Item<W>,
  signal: AbortSignal,
): Promise<void> {
  if (!isLanes(item)) {
    await new StepRun(context, { step: item }).run(signal);
    return;
  }
  context.emit({ type: 'lanes.started', staged: stagedLanes(item) });
  const first = new AbortController();
  const shared = AbortSignal.any([signal, first.signal]);
  const runs = Object.entries(item.lanes).map(async ([lane, steps]) => {
    try {
      for (const step of steps) await new StepRun(context, { step, lane }).run(shared);
      context.emit({ type: 'lane.finished', lane });
    } catch (error) {
      // Another lane may be writing a disk: it ends at its own next step or wait.
      const isHalted = context.halt?.aborted === true && error === context.halt.reason;
      if (!shared.aborted && !isHalted) first.abort(error);
    }
  });
  await Promise.all(runs);
  shared.throwIfAborted();
  context.halt?.throwIfAborted();
}

const stagedLanes = <W extends World>({ lanes, ahead = {} }: Lanes<W>): readonly StagedLane[] =>
  Object.entries(lanes).flatMap(([lane, steps]) => {
    const first = steps.find(({ stage }) => stage !== undefined)?.stage;
    const text = ahead[lane];
    if (first === undefined) return [];
    return [text === undefined ? { lane, first } : { lane, first, ahead: text }];
  });

/**
 * Runs the steps in `always`, also if an earlier run has run them: each failure has its own logs.
 */
const runAlways = <W extends World>(
  context: RunContext<W>,
  { always = [] }: Role<W>,
  signal: AbortSignal,
): Promise<void> => runAside({ ...context, past: new Map() }, always, signal);

/** Runs steps whose failure does not affect the run, and which need no journal. */
async function runAside<W extends World>(
  context: RunContext<W>,
  steps: readonly AnyStep<W>[],
  signal: AbortSignal,
): Promise<void> {
  const journal: Journal = {
    ...context.journal,
    append: (line, options) => context.journal.append(line, options).catch(() => undefined),
  };
  await Promise.all(
    steps.map(async (step) => {
      try {
        await new StepRun({ ...context, journal, halt: undefined }, { step }).run(signal);
      } catch {
        // The event reports the failure; it must not end the run.
      }
    }),
  );
}
