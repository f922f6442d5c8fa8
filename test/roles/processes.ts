import { rmSync } from 'node:fs';
import fc from '../support/properties.ts';
import { expect } from 'vitest';
import type { Machine } from '../../mocks/host/machine.ts';
import type { Config } from '../../src/config/schema.ts';
import { describeRole } from '../../src/engine/describe.ts';
import { mainLine, type Role } from '../../src/engine/role.ts';
import { runRole, type RunOutcome } from '../../src/engine/run.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { type Journal, JournalEntry } from '../../src/engine/journal.ts';
import type { Secret } from '../../src/model/secret.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { ImageRelay } from '../../src/ports/image-relay.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import type { InstallWorld } from '../../src/steps/step.ts';
import { workerCase } from '../layering/worker.ts';
import { fakeReports } from '../support/fake-inventory.ts';
import { fakeObjects } from '../support/fake-objects.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { fakeWeb } from '../support/fake-web.ts';
import { Crash, memoryJournal, type MemoryJournal } from '../support/memory-journal.ts';
import { briskClock, type CommandFault, machineHost, type Power } from './machine-host.ts';
import { bootstrapFile } from './control-plane.ts';
import { crashPointsOf, type Mark } from './crash-points.ts';
import { servedTo } from './layered.ts';
import {
  type Host,
  ignition,
  image,
  imageSha256,
  imageUrl,
  movesOf,
  newWorld,
  stateOf,
  type World,
} from './world.ts';

/** Passes the image on without a socket: the stand-in for the writer reads any address. */
const relay: ImageRelay = {
  serve: () =>
    Promise.resolve({
      url: `data:application/octet-stream;base64,${image.toString('base64')}`,
      outcome: () => ({ isAsked: true, bytes: image.length, resumed: 0, sha256: imageSha256 }),
      close: () => Promise.resolve(),
    }),
};

/** One process of the agent, from its start to its end. */
export interface Life {
  readonly outcome?: RunOutcome;
  readonly error?: unknown;
  readonly events: readonly RunEvent[];
}

const killed = (): Error => new Error('the agent was killed');

/**
 * A process that is killed before one of its commands, or earlier: it has no further effect on the
 * host.
 */
function powerFor(
  commands: number,
): Power & { readonly isGone: () => boolean; readonly kill: () => void } {
  let left = commands;
  return {
    isGone: () => left < 0,
    kill: () => (left = -1),
    check: () => {
      left -= 1;
      if (left < 0) throw killed();
    },
  };
}

/** The input of a process. */
interface Process {
  readonly config: Config;
  readonly journal: Journal;
  /** The number of commands before the kill. */
  readonly commands: number;
  /** Decides for each command whether it fails. */
  readonly faultOf?: (argv: readonly string[]) => CommandFault | undefined;
  readonly changed?: (role: Role<InstallWorld>) => Role<InstallWorld>;
  /** Replaces the clock whose limits never pass. */
  readonly time?: Clock;
  readonly heard?: (event: RunEvent) => void;
  readonly hide?: (secret: Secret) => void;
  readonly signal?: AbortSignal;
}

/** One process of the agent: it ends with its role, or when its journal or its power says so. */
export async function live(
  world: World,
  { config, journal, commands, faultOf, ...how }: Process,
): Promise<Life> {
  const { machine, kube, inventory } = world;
  const power = powerFor(commands);
  const events: RunEvent[] = [];
  const time = how.time ?? briskClock();
  const clock: Clock = {
    ...time,
    // A killed process does not continue to wait.
    sleep: (duration, signal) =>
      power.isGone() ? Promise.reject(killed()) : time.sleep(duration, signal),
  };
  try {
    const outcome = await runRole({
      role: how.changed?.(chooseRole(config)) ?? chooseRole(config),
      config,
      ports: {
        host: machineHost(machine, {
          ...power,
          faultOf,
          moved: () => {
            world.moves += 1;
          },
        }),
        inventory,
        reports: fakeReports(),
        kube,
        web: fakeWeb().with(imageUrl, image).with(workerCase.url, servedTo(config)),
        objects: ['master', 'arbiter', 'worker'].reduce(
          (store, role) => store.with(`ignition/C/${role}.ign`, ignition),
          fakeObjects().with('ignition/C/bootstrap.ign', bootstrapFile),
        ),
        random: fakeRandom(),
        imageRelay: relay,
        clock,
      },
      clock,
      journal: {
        ...journal,
        append: async (line, options) => {
          if (power.isGone()) throw killed();
          try {
            await journal.append(line, options);
          } catch (error) {
            // The crash ends its other running work too.
            if (error instanceof Crash) power.kill();
            throw error;
          }
        },
      },
      header: { version: '1', fingerprint: 'f', bootId: 'b' },
      run: 'r',
      sinks: [(event) => events.push(event), (event) => how.heard?.(event)],
      hide: (secret) => how.hide?.(secret),
      signal: how.signal ?? new AbortController().signal,
    });
    return { outcome, events };
  } catch (error) {
    return { error, events };
  }
}

/** A run without a crash. */
export interface Straight extends World {
  readonly life: Life;
  /** Its final state. */
  readonly state: unknown;
  /** The lines that it wrote to its journal. */
  readonly marks: readonly Mark[];
}

/** The number and the positions of the agent's crashes. */
interface Processes {
  readonly crashAfter: number;
  readonly losesUnflushed: boolean;
  /** The number of commands of each killed process. */
  readonly commands: readonly number[];
}

/** Programs that a machine ran and that no step of the plan names. */
export function unplanned(machine: Machine, config: Config): readonly string[] {
  const { items, always, follow } = describeRole(chooseRole(config), config);
  const steps = items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap((lane) => lane.steps),
  );
  const planned = new Set([...steps, ...always, ...follow].flatMap(({ programs }) => programs));
  const ran = new Set(machine.ran.map(({ argv: [program = ''] }) => program));
  return [...ran].filter((program) => !planned.has(program));
}

const count = (machine: Machine, program: string): number =>
  machine.ran.filter(({ argv }) => argv[0] === program).length;

/** Installs a machine in one process. */
export async function install(host: Host): Promise<Straight> {
  const { config } = host;
  const world = newWorld(host);
  const marks: Mark[] = [];
  const journal = memoryJournal([], {
    onStored: (_, isFlushed) => marks.push({ isFlushed, moves: movesOf(world) }),
  });
  const life = await live(world, { config, journal, commands: 1e6 });
  return { ...world, life, state: stateOf(world), marks };
}

/**
 * Steps that run again in each process: a lock ends with it, a reboot may have been cancelled, and
 * each failure has logs of its own.
 */
const ofEachLife = (role: Role<InstallWorld>): ReadonlySet<string> =>
  new Set([
    ...mainLine(role).flatMap(({ step: { id, effect } }) =>
      effect === 'locks' || effect === 'leaves' ? [id] : [],
    ),
    ...(role.always ?? []).map(({ id }) => id),
  ]);

/**
 * Before the first destructive command, the install disk may be another one: everything runs again.
 */
const isDestroying = (role: Role<InstallWorld>, journal: MemoryJournal): boolean =>
  mainLine(role).some(({ step }) => step.effect === 'destroys' && hasBegun(journal, step.id));

/** Whether a step has begun, according to a journal. */
export const hasBegun = (journal: MemoryJournal, id: string): boolean =>
  journal.entries().some(({ step }) => step === id);

/** One more process, which begins no step whose end was flushed before. */
async function liveOnce(
  world: World,
  how: Process & { readonly journal: MemoryJournal },
  ended: ReadonlySet<string>,
): Promise<Life> {
  const role = chooseRole(how.config);
  const mayRunAgain = ofEachLife(role);
  const before = new Set(
    isDestroying(role, how.journal) ? [...ended].filter((step) => !mayRunAgain.has(step)) : [],
  );
  const life = await live(world, how);
  const begun = life.events.flatMap((event) => (event.type === 'step.started' ? event.step : []));
  expect(begun.filter((step) => before.has(step))).toEqual([]);
  return life;
}

/** Runs processes until one is not killed, and compares the final state with the straight run. */
async function expectAlike(host: Host, straight: Straight, onStart: Processes): Promise<void> {
  const { config } = host;
  const world = newWorld(host);
  const { machine } = world;
  const ended = new Set<string>();
  const journal = memoryJournal([], {
    ...onStart,
    onStored: (line, isFlushed) => {
      const entry = JournalEntry.safeParse(JSON.parse(line)).data;
      if (isFlushed && entry?.type === 'finished') ended.add(entry.step);
    },
  });
  for (const commands of onStart.commands) {
    await liveOnce(world, { config, journal, commands }, ended);
    journal.restart();
  }
  const last = await liveOnce(world, { config, journal, commands: 1e6 }, ended);
  expect(last.error).toBeUndefined();
  expect(stateOf(world)).toEqual(straight.state);
  expect(count(machine, 'shutdown') > 0).toBe(count(straight.machine, 'shutdown') > 0);
  // The live system ends; a unit that kept its watch would look for files that are gone.
  machine.units.reset([], []);
  rmSync(machine.files.root, { recursive: true });
}

/** Hosts that are installed in parallel while one waits; more would only fill the memory. */
const atOnce = 12;

/**
 * Crashes a host after each write of its straight run, with or without the loss of unflushed lines,
 * or in both ways; equal results are tested once.
 */
export async function expectAlikeAfterEachWrite(
  host: Host,
  straight: Straight,
  losses: readonly boolean[],
): Promise<void> {
  const crashes = crashPointsOf(straight.marks, losses).values();
  const crashOn = async (): Promise<void> => {
    for (const crash of crashes) await expectAlike(host, straight, { ...crash, commands: [1e6] });
  };
  await Promise.all(Array.from({ length: atOnce }, crashOn));
}

/** Kills the agent before commands of two processes and after a write, at a dozen places. */
export async function expectAlikeAfterTwoCrashes(host: Host, straight: Straight): Promise<void> {
  const most = straight.machine.ran.length;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: straight.marks.length }),
      fc.tuple(fc.integer({ min: 0, max: most }), fc.integer({ min: 0, max: most })),
      fc.boolean(),
      (crashAfter, commands, losesUnflushed) =>
        expectAlike(host, straight, { crashAfter, commands, losesUnflushed }),
    ),
    { numRuns: 12 },
  );
}
