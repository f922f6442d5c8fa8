import { expect } from 'vitest';
import { Config, type ConfigInput } from '../../src/config/schema.ts';
import type { Progress, RunEvent } from '../../src/engine/events.ts';
import {
  type AnyFact,
  factStore,
  type FactValue,
  type NeedsOf,
  type NeedValues,
} from '../../src/engine/fact.ts';
import { StepRun as RunOfStep } from '../../src/engine/run-step.ts';
import type { Step } from '../../src/engine/step.ts';
import { type Masker, masker, secretValues } from '../../src/lib/masker.ts';
import type { ImageRelay } from '../../src/ports/image-relay.ts';
import { hours } from '../../src/model/duration.ts';
import { Secret } from '../../src/model/secret.ts';
import type { LadderName, Stage } from '../../src/model/stage.ts';
import type { Ports } from '../../src/ports/ports.ts';
import { step, type StepScope } from '../../src/steps/step.ts';
import { Ladder } from '../../src/reporting/ladder.ts';
import { fakeClock } from './fake-clock.ts';
import { fakeHost, type FakeHost } from './fake-host.ts';
import { fakeInventory, fakeReports } from './fake-inventory.ts';
import { fakeKube } from './fake-kube.ts';
import { fakeObjects } from './fake-objects.ts';
import { fakeRandom } from './fake-random.ts';
import { fakeWeb } from './fake-web.ts';
import { memoryJournal } from './memory-journal.ts';

interface TestWorld {
  readonly config: Config;
  readonly ports: Ports;
}

/** A step of the product. */
type ProductStep<
  Uses extends keyof Ports,
  Needs extends NeedsOf,
  Gives extends AnyFact | undefined,
> = Step<TestWorld, Uses, Needs, Gives>;

/** Inputs of a step; the default of a port is an empty fake. */
interface StepRun<Needs extends NeedsOf> extends Partial<Ports> {
  readonly config?: ConfigInput;
  /** Values of the needed facts, by the step's own names. */
  readonly facts?: NeedValues<Needs>;
  readonly signal?: AbortSignal;
  /** Aborted when the run is no longer wanted. */
  readonly halt?: AbortSignal;
  /** Secrets that earlier steps have read. */
  readonly secrets?: readonly string[];
  /** Called with each event at once, for tests that wait for one. */
  readonly heard?: (event: RunEvent) => void;
}

/** The end of a step, successful or not. */
interface StepEnd<Gives extends AnyFact | undefined> {
  readonly value?: Gives extends AnyFact ? FactValue<Gives> : undefined;
  readonly failure?: unknown;
  readonly events: readonly RunEvent[];
  readonly progress: readonly Progress[];
  /** Secrets that the step registered with `hide`. */
  readonly hidden: readonly string[];
  /** Notes as `level: message`. */
  readonly notes: readonly string[];
}

function factsOf<Needs extends NeedsOf>(
  needs: Needs | undefined,
  given: NeedValues<Needs> | undefined,
): ReturnType<typeof factStore> {
  const facts = factStore();
  const values = (given ?? {}) as Readonly<Record<string, unknown>>;
  for (const [name, { name: fact }] of Object.entries<AnyFact>(needs ?? {})) {
    if (Object.hasOwn(values, name)) facts.give(fact, values[name]);
  }
  return facts;
}

function maskerFor(config: Config, read: readonly string[]): Masker {
  const secrets = masker();
  for (const secret of secretValues(config)) secrets.register(secret);
  for (const text of read) secrets.register(new Secret(text));
  return secrets;
}

/** A step that only runs a function in its scope: a test of what several steps call. */
export const stepThat = <Uses extends keyof Ports>(
  uses: readonly Uses[],
  run: (scope: StepScope<Uses>) => Promise<void>,
) => step({ id: 'test/run', title: 'Run a function', uses, limit: hours(6), run });

/** Runs one step with the real engine, and resolves with its end. */
export async function tryStep<
  Uses extends keyof Ports,
  Needs extends NeedsOf,
  Gives extends AnyFact | undefined,
>(step: ProductStep<Uses, Needs, Gives>, run: StepRun<Needs>): Promise<StepEnd<Gives>> {
  const events: RunEvent[] = [];
  const hidden: string[] = [];
  const clock = run.clock ?? fakeClock();
  const facts = factsOf(step.needs, run.facts);
  const config = Config.parse(run.config ?? {});
  const secrets = maskerFor(config, run.secrets ?? []);
  const context = {
    config,
    ports: portsOf(run, clock),
    clock,
    journal: memoryJournal(),
    past: new Map(),
    hasStartedWriting: false,
    facts,
    beforeLeaving: () => Promise.resolve(),
    halt: run.halt,
    hide: (secret: Secret): void => {
      hidden.push(secret.reveal());
      secrets.register(secret);
    },
    mask: secrets.mask,
    emit: (body: object): void => {
      const event = { ...body, at: clock.now(), run: 'test' } as RunEvent;
      events.push(event);
      run.heard?.(event);
    },
  };
  const signal = run.signal ?? new AbortController().signal;
  try {
    await new RunOfStep(context, { step }).run(signal);
  } catch (failure) {
    return { ...reported(events), hidden, failure };
  }
  const given = step.gives;
  const isGiven = given !== undefined && !events.some(({ type }) => type === 'step.skipped');
  const value: unknown = isGiven ? await facts.need(given.name, signal) : undefined;
  return { ...reported(events), hidden, value: value as never };
}

/**
 * Runs one step with the real engine.
 * @throws the failure of the step
 */
export async function runStep<
  Uses extends keyof Ports,
  Needs extends NeedsOf,
  Gives extends AnyFact | undefined,
>(
  step: ProductStep<Uses, Needs, Gives>,
  run: StepRun<Needs>,
): Promise<
  Omit<StepEnd<Gives>, 'failure' | 'value'> & {
    readonly value: Gives extends AnyFact ? FactValue<Gives> : undefined;
  }
> {
  const end = await tryStep(step, run);
  if ('failure' in end) throw end.failure;
  return { ...end, value: end.value as never };
}

function portsOf(run: Partial<Ports>, clock: Ports['clock']): Ports {
  return {
    host: run.host ?? fakeHost({ clock }),
    inventory: run.inventory ?? fakeInventory(),
    reports: run.reports ?? fakeReports(),
    kube: run.kube ?? fakeKube(),
    web: run.web ?? fakeWeb(),
    objects: run.objects ?? fakeObjects(),
    imageRelay: run.imageRelay ?? idleRelay,
    random: run.random ?? fakeRandom(),
    ...run,
    clock,
  };
}

const reported = (
  events: readonly RunEvent[],
): Pick<StepEnd<undefined>, 'events' | 'progress' | 'notes'> => ({
  events,
  progress: events.flatMap((event) => (event.type === 'step.progress' ? [event.progress] : [])),
  notes: events.flatMap((event) =>
    event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
  ),
});

/** Inputs of a step for the law below; its host must be new at each call. */
type RepeatedRun<Needs extends NeedsOf> = StepRun<Needs> & {
  readonly host: FakeHost;
  /** Further state that the commands of the host change. */
  readonly world?: () => unknown;
};

/**
 * The law of every step: run twice, or stopped before any of its commands and run again, it leaves
 * the same state and the same fact as one run.
 */
export async function isSafeToRepeat<
  Uses extends keyof Ports,
  Needs extends NeedsOf,
  Gives extends AnyFact | undefined,
>(step: ProductStep<Uses, Needs, Gives>, fresh: () => RepeatedRun<Needs>): Promise<void> {
  const once = fresh();
  const expected = worldOf(once, (await runStep(step, once)).value);
  const commands = once.host.ran.length;
  expect(worldOf(once, (await runStep(step, once)).value), 'run twice').toEqual(expected);
  for (let command = 0; command < commands; command += 1) {
    const run = fresh();
    run.host.diesAt(command);
    await tryStep(step, run);
    run.host.diesAt(undefined);
    const after = worldOf(run, (await runStep(step, run)).value);
    expect(after, `stopped before its command ${command}, then run again`).toEqual(expected);
  }
}

function worldOf(run: { readonly host: FakeHost; readonly world?: () => unknown }, value: unknown) {
  return {
    value,
    files: Object.fromEntries(
      [...run.host.files].map(([path, file]) => [
        path,
        { text: run.host.textOf(path), mode: file.mode },
      ]),
    ),
    more: run.world?.(),
  };
}

/** Relays nothing: a test of a relay has its own. */
const idleRelay: ImageRelay = {
  serve: () =>
    Promise.resolve({
      url: 'http://127.0.0.1:40000/image',
      outcome: () => ({ isAsked: true, bytes: 0, resumed: 0 }),
      close: () => Promise.resolve(),
    }),
};

/** The statuses of a run's waits, in order. */
export const statusesOf = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : []));

/** The texts of a run at a stage that the inventory service gets, each with its minute. */
export function reportsOf(
  events: readonly RunEvent[],
  { ladder, stage }: { readonly ladder: LadderName; readonly stage: Stage },
): readonly string[] {
  const stages = new Ladder(ladder);
  const before = { type: 'step.started', step: 'a/step', title: '', attempt: 1, stage } as const;
  stages.read({ ...before, at: 0, run: 'test' });
  return events.flatMap((event) => {
    const report = stages.read(event);
    return report === undefined ? [] : [`${Math.floor(event.at / 60_000)}: ${report.info}`];
  });
}
