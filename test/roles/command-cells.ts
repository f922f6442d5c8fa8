import { rmSync } from 'node:fs';
import { describeRole, type PlannedStep } from '../../src/engine/describe.ts';
import type { Config } from '../../src/config/schema.ts';
import { type Millis, minutes } from '../../src/model/duration.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import type { CommandEnding, CommandFault } from '../contract/faults/commands.ts';
import { type MemoryJournal, memoryJournal } from '../support/memory-journal.ts';
import { commandName } from './command-name.ts';
import type { FaultHost } from './fault-hosts.ts';
import { faultyHost, type FaultOf, workClock } from './faulty-host.ts';
import { type Life, live } from './processes.ts';
import { withStepHosts } from './step-hosts.ts';
import { newWorld, type World } from './world.ts';

/** A command of a step. */
export interface Place {
  readonly step: string;
  readonly command: string;
}

/** A command of a step with a fault, and how that is to end. */
export interface Cell {
  readonly place: Place;
  readonly fault: CommandFault;
  readonly ending: CommandEnding;
}

/** Every step of the role that a configuration asks for. */
export function plannedSteps(config: Config): readonly PlannedStep[] {
  const { items, always, follow } = describeRole(chooseRole(config), config);
  const main = items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  );
  return [...main, ...always, ...follow];
}

/** A host with what it keeps from one process to the next. */
export interface Kept {
  readonly world: World;
  readonly journal: MemoryJournal;
}

/** A host before its first process. */
export const begin = ({ host, prepare = (world) => world }: FaultHost): Kept => ({
  world: prepare(newWorld(host)),
  journal: memoryJournal(),
});

/** Takes a host away. */
export function end({ world: { machine } }: Kept): void {
  machine.units.reset([], []);
  rmSync(machine.files.root, { recursive: true });
}

/** A process, and how it met a fault. */
interface FaultyLife extends Life {
  /** It was stopped, since the step had finished that was waited for. */
  readonly hasPassed: boolean;
  /** From the first fault to the end; undefined without a fault. */
  readonly took: Millis | undefined;
}

/** Runs one process on a host, until a step has finished or to its end. */
export async function runProcess(
  { host, lacks = [] }: FaultHost,
  { world, journal }: Kept,
  { faultOf, until }: { readonly faultOf: FaultOf; readonly until?: string },
): Promise<FaultyLife> {
  const clock = workClock();
  let since: Millis | undefined;
  const stop = new AbortController();
  const life = await live(world, {
    config: host.config,
    journal,
    commands: 1e6,
    time: clock,
    signal: stop.signal,
    heard: (event) => {
      if (event.type === 'step.finished' && event.step === until) stop.abort(new Error('enough'));
    },
    changed: (role) =>
      // What comes after a failure is of no interest to a step.
      withStepHosts(until === undefined ? role : { ...role, always: [] }, (step, own) =>
        faultyHost(own, {
          step,
          clock,
          faultOf: (by, argv) => {
            if (lacks.includes(argv[0] ?? '')) return 'missing';
            const fault = faultOf(by, argv);
            if (fault !== undefined) since ??= clock.elapsed();
            return fault;
          },
        }),
      ),
  });
  const took = since === undefined ? undefined : clock.elapsed() - since;
  return { ...life, hasPassed: stop.signal.aborted, took };
}

/** What a process said that went wrong. */
interface Said {
  readonly words: string;
  readonly code: string | undefined;
}

/** The warnings of a process, or of one of its steps. */
export const warningsOf = ({ events }: Life, step?: string): readonly Said[] =>
  events.flatMap((event) =>
    event.type === 'note' && event.level === 'warn' && (step ?? event.step) === event.step
      ? [
          {
            words: `${event.message} ${String(event.fields['reason'] ?? '')}`,
            code: event.fields['code'] as string | undefined,
          },
        ]
      : [],
  );

/** All that a failure says, its causes included. */
const wordsOf = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${wordsOf(error.cause)}` : '';

/** How a cell was seen to end. */
export interface Seen {
  /** What the table does not say of it. */
  readonly violation: string | undefined;
  /** The command was run. */
  readonly isMet: boolean;
  /** The step has finished: no other process runs it again. */
  readonly isOver: boolean;
}

/** What a step has set up is undone after its limit too. */
const longestUndo = minutes(6);

/**
 * Runs a process whose command has a fault.
 * @param known warnings of the host without any fault
 */
export async function runCell(
  faultHost: FaultHost,
  kept: Kept,
  { cell, known }: { readonly cell: Cell; readonly known: ReadonlySet<string> },
): Promise<Seen> {
  const { place, fault, ending } = cell;
  const faultOf: FaultOf = (step, argv) =>
    step === place.step && commandName(argv) === place.command ? fault : undefined;
  const life = await runProcess(faultHost, kept, { faultOf, until: place.step });
  const warnings = warningsOf(life, place.step).filter(({ words }) => !known.has(words));
  const failure = failureOf(faultHost, life);
  const said = failure === undefined ? warnings : [{ words: wordsOf(failure), code: failure.code }];
  const attempts = life.events.filter(
    (event) => event.type === 'step.started' && event.step === place.step,
  ).length;
  const outcome = failure === undefined ? 'warns' : 'ends';
  const limit = plannedSteps(faultHost.host.config).find(({ id }) => id === place.step)?.limit ?? 0;
  const isInTime = life.took !== undefined && life.took <= limit + longestUndo;
  const isTried = outcome === 'warns' || attempts === ending.attempts;
  const isAsSaid = outcome === ending.outcome && isTried && isInTime;
  return {
    violation: isAsSaid && namesCause(said, cell) ? undefined : shown({ outcome, attempts, said }),
    isMet: life.took !== undefined,
    isOver: failure === undefined,
  };
}

/** What a fault ended a process with; what ends it in any case is none of its doing. */
function failureOf({ code }: FaultHost, { hasPassed, error }: FaultyLife): AgentError | undefined {
  const failure = hasPassed ? undefined : (error as AgentError | undefined);
  return failure?.code === code ? undefined : failure;
}

/** Whether one of several has the code, and names the cause: the program, unless the table says else. */
const namesCause = (said: readonly Said[], { place, ending }: Cell): boolean =>
  said.some(
    ({ code, words }) =>
      code === ending.code && words.includes(ending.says ?? place.command.split(/[: ]/)[0] ?? ''),
  );

const shown = ({
  outcome,
  attempts,
  said,
}: {
  readonly outcome: string;
  readonly attempts: number;
  readonly said: readonly Said[];
}): string =>
  `${outcome} ×${attempts}: ${said.map(({ code = 'no code', words }) => `${code} ${words}`).join('; ')}`;
