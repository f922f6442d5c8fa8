// Invariants of running one step:
// 1. `started` is on the disk before a step that destroys;
// 2. `finished` is on the disk before the step's fact can be needed;
// 3. a step that was stopped because of another failure is `stopped`, never `failed`.
import { plainText } from '../lib/plain-text.ts';
import { renderDuration } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { Secret } from '../model/secret.ts';
import type { Stage } from '../model/stage.ts';
import type { Clock } from '../ports/clock.ts';
import { isActive } from './condition.ts';
import type { Emit, RunEventBody } from './events.ts';
import { type AnyFact, type FactStore, isOptional } from './fact.ts';
import { asAgentError, engineFailure, reportOf, withFirst } from './failures.ts';
import { type Journal, type JournalEntry, renderRecord } from './journal.ts';
import { limited } from './limit.ts';
import { isReused, type StepRecords } from './resume.ts';
import type { PlacedStep } from './role.ts';
import type { Scope, StepScope, World } from './step.ts';
import { reportRetries, untilOf, type WaitListener } from './wait.ts';

/** State that the steps of one run share. */
export interface RunContext<W extends World> {
  readonly config: W['config'];
  readonly ports: W['ports'];
  readonly clock: Clock;
  readonly journal: Journal;
  readonly past: StepRecords;
  /** Whether an earlier run has begun to destroy; its finished steps are then reused. */
  readonly hasStartedWriting: boolean;
  readonly facts: FactStore;
  readonly emit: Emit;
  /** The last chance to report; called after the step that leaves the host is announced. */
  readonly beforeLeaving: (signal: AbortSignal) => Promise<void>;
  /** Removes secrets from the message of a failure before the journal stores it. */
  readonly mask: (text: string) => string;
  /** Registers a secret that a step has read. */
  readonly hide: (secret: Secret) => void;
  /**
   * Aborted when the run is no longer wanted. The run fails with the reason at its next step or in
   * a wait; work under way is not interrupted.
   */
  readonly halt?: AbortSignal | undefined;
}

/**
 * Aborted by a stop, and also when the run is halted. Waits use it, and the check between two
 * steps.
 */
const orHalted = <W extends World>({ halt }: RunContext<W>, signal: AbortSignal): AbortSignal =>
  halt === undefined ? signal : AbortSignal.any([signal, halt]);

/** End of a step that did not fail. A step that an earlier run finished is done. */
export type StepEnd = 'done' | 'skipped';

type Undo = Parameters<StepScope<unknown>['onExit']>;

type StepEvent = Extract<RunEventBody, { readonly step: string }>;

type OmitKey<Union, Key extends string> = Union extends unknown ? Omit<Union, Key> : never;

/** One step of a run. */
export class StepRun<W extends World> {
  readonly #context: RunContext<W>;
  readonly #placed: PlacedStep<W>;
  /** The values of the needed facts, by the step's own names. */
  readonly #needs: Record<string, unknown> = {};

  constructor(context: RunContext<W>, placed: PlacedStep<W>) {
    this.#context = context;
    this.#placed = placed;
  }

  /**
   * Brings the step to its end: skips it, reuses the result of an earlier run, or runs it with its
   * retries under its limit.
   * @throws AgentError the failure of the step, or the reason of its stop
   */
  async run(signal: AbortSignal): Promise<StepEnd> {
    const { config, past, hasStartedWriting } = this.#context;
    const { step } = this.#placed;
    const orEnded = orHalted(this.#context, signal);
    orEnded.throwIfAborted();
    if (step.when !== undefined && !isActive(step.when, config))
      return this.#skip(`only when ${step.when.describe(config)}`);
    await this.#readNeeds(orEnded);
    const needless = step.skipIf?.(this.#needs, config);
    if (needless !== undefined) return this.#skip(needless);
    const earlier = past.get(step.id);
    if (earlier?.state === 'finished' && isReused(past, step, hasStartedWriting)) {
      this.#give(earlier.fact);
      this.#emit({ type: 'step.reused', title: step.title, ...this.#stage() });
    } else await this.#execute(signal);
    return 'done';
  }

  #emit(body: OmitKey<StepEvent, 'step' | 'lane'>): void {
    const { step, lane } = this.#placed;
    const who = { step: step.id, ...(lane === undefined ? {} : { lane }) };
    const { type, ...more } = body;
    this.#context.emit({ type, ...who, ...more } as StepEvent);
  }

  /** Notes a failure that does not affect the end of the step. */
  #noteFailure(message: string, thrown: unknown): void {
    const { code, message: reason } = asAgentError(thrown);
    this.#emit({ type: 'note', level: 'warn', message, fields: { code, reason } });
  }

  /** Adds an entry to the journal; with `flush` it is on the disk when the promise resolves. */
  async #record(content: OmitKey<JournalEntry, 'at' | 'step'>, flush = true): Promise<void> {
    const { clock, journal } = this.#context;
    const entry = { ...content, step: this.#placed.step.id, at: clock.now() };
    await journal.append(renderRecord(entry), { flush });
  }

  #skip(reason: string): StepEnd {
    this.#emit({ type: 'step.skipped', reason });
    return 'skipped';
  }

  async #readNeeds(signal: AbortSignal): Promise<void> {
    const { facts } = this.#context;
    const needs = (this.#placed.step.needs ?? {}) as Readonly<Record<string, AnyFact>>;
    for (const [name, fact] of Object.entries(needs))
      this.#needs[name] = isOptional(fact)
        ? facts.given(fact.name)
        : await facts.need(fact.name, signal);
  }

  #give(value: unknown): void {
    const gives = this.#placed.step.gives as AnyFact | undefined;
    if (gives !== undefined) this.#context.facts.give(gives.name, gives.schema.parse(value));
  }

  /** The stage of the step, and the text beside it. */
  #stage(): { readonly stage?: Stage; readonly stageInfo?: string } {
    const { stage, stageInfo } = this.#placed.step;
    if (stage === undefined) return {};
    return { stage, stageInfo: stageInfo?.(this.#context.config, this.#needs) ?? '' };
  }

  async #execute(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const { id, limit } = this.#placed.step;
    const since = clock.elapsed();
    const late = (): Error =>
      engineFailure('step.timed-out', `${id}: not within ${renderDuration(limit)}`, {
        context: { step: id },
      });
    try {
      const fact = await limited(clock, { limit, signal, late }, (inner) => this.#attempts(inner));
      await this.#recordFinished(fact);
      this.#give(fact);
    } catch (thrown) {
      await this.#recordEnd(thrown, signal);
      throw signal.aborted ? signal.reason : asAgentError(thrown);
    }
    this.#emit({ type: 'step.finished', duration: clock.elapsed() - since });
  }

  /** A reboot may lose the journal; then nothing depends on it. */
  async #recordFinished(fact: unknown): Promise<void> {
    try {
      await this.#record({ type: 'finished', fact: fact ?? null });
    } catch (thrown) {
      if (this.#placed.step.effect !== 'leaves') throw thrown;
      this.#noteFailure('the journal does not say that the host reboots', thrown);
    }
  }

  /** If the journal cannot store the end of the step, the step still fails with its own cause. */
  async #recordEnd(thrown: unknown, signal: AbortSignal): Promise<void> {
    try {
      if (signal.aborted) {
        this.#emit({ type: 'step.stopped' });
        await this.#record({ type: 'stopped' });
        return;
      }
      const failure = reportOf(asAgentError(thrown));
      this.#emit({ type: 'step.failed', failure });
      const message = plainText(this.#context.mask(failure.message));
      await this.#record({ type: 'failed', code: failure.code, message });
    } catch (error) {
      this.#noteFailure('the journal does not say how the step ended', error);
    }
  }

  /**
   * Runs the step until it succeeds or its attempts are used up; returns its fact.
   * @throws AgentError the failure of the last attempt
   */
  async #attempts(signal: AbortSignal): Promise<unknown> {
    const { clock, beforeLeaving } = this.#context;
    const { effect, title, retry } = this.#placed.step;
    await this.#record({ type: 'started' }, effect === 'destroys');
    const { attempts, every } = retry ?? { attempts: 1, every: 0 };
    let first: AgentError | undefined;
    for (let attempt = 1; ; attempt += 1) {
      this.#emit({ type: 'step.started', title, attempt, ...this.#stage() });
      if (effect === 'leaves') await beforeLeaving(signal);
      try {
        return await this.#attempt(signal);
      } catch (thrown) {
        const error = asAgentError(thrown);
        if (signal.aborted) throw error;
        if (attempt >= attempts || error.isFinal) throw withFirst(error, first);
        first ??= error;
        this.#emit({ type: 'step.retrying', failure: reportOf(error), attempt, attempts });
        await clock.sleep(every, orHalted(this.#context, signal));
      }
    }
  }

  /** Runs the body of the step, then its registered undo functions, on success and on failure. */
  async #attempt(signal: AbortSignal): Promise<unknown> {
    const { step } = this.#placed;
    const undos: Undo[] = [];
    let isOver = false;
    const waits: WaitListener = {
      updated: (update) => this.#emit({ type: 'wait.updated', ...update }),
      finished: (end) => this.#emit({ type: 'wait.finished', ...end }),
    };
    // A step may start requests that outlive it.
    const retries: WaitListener = {
      updated: (update) => (isOver ? undefined : waits.updated(update)),
      finished: (end) => (isOver ? undefined : waits.finished(end)),
    };
    try {
      const scope = this.#scope(signal, waits, undos);
      const value: unknown = await reportRetries(retries, () => step.run(scope, this.#needs));
      await this.#undo(undos.filter(([, when]) => when === 'always'));
      return value;
    } catch (error) {
      await this.#undo(undos);
      throw error;
    } finally {
      isOver = true;
    }
  }

  /** Runs the undo functions, the last registered first. */
  async #undo(undos: readonly Undo[]): Promise<void> {
    for (const [undo] of undos.toReversed()) {
      try {
        await undo();
      } catch (thrown) {
        this.#noteFailure('could not undo what the step had set up', thrown);
      }
    }
  }

  /** The scope of the step: only the ports it uses, and progress, waits, notes and undo. */
  #scope(signal: AbortSignal, waits: WaitListener, undos: Undo[]): Scope<W, keyof W['ports']> {
    const { config, clock, ports, hide, mask } = this.#context;
    const named = Object.fromEntries(this.#placed.step.uses.map((port) => [port, ports[port]]));
    return {
      ...(named as W['ports']),
      config,
      signal,
      hide,
      mask,
      onExit: (...undo) => {
        undos.push(undo);
      },
      progress: (progress) => {
        this.#emit({ type: 'step.progress', progress });
      },
      alive: (doing) => {
        this.#emit({ type: 'step.alive', ...(doing === undefined ? {} : { doing }) });
      },
      until: untilOf(clock, orHalted(this.#context, signal), waits),
      note: (level, message, fields = {}) => {
        this.#emit({ type: 'note', level, message, fields });
      },
    };
  }
}
