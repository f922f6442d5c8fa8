import { fakeClock, type FakeClock } from './fake-clock.ts';
import { memoryJournal, type MemoryJournal } from './memory-journal.ts';
import { minutes } from '../../src/model/duration.ts';
import { failuresOf } from '../../src/model/failure.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { fact } from '../../src/engine/fact.ts';
import { role, type Role } from '../../src/engine/role.ts';
import { runRole, type RunOptions, type RunOutcome } from '../../src/engine/run.ts';
import { type AnyStep, stepsOf } from '../../src/engine/step.ts';
import * as z from 'zod';

export interface ToyConfig {
  readonly cleans: boolean;
}
interface ToyWorld {
  readonly did: string[];
  readonly perform: (what: string) => Promise<void>;
}
interface ToyPorts {
  readonly world: ToyWorld;
}
interface Toy {
  readonly config: ToyConfig;
  readonly ports: ToyPorts;
}
type ToyRole = Role<Toy>;

export const failure = failuresOf({
  'toy.broken': { kind: 'host', title: 't', hint: 'h' },
  'toy.wrong': { kind: 'input', title: 't', hint: 'h' },
});
export const step = stepsOf<Toy>();
const Disk = fact('toy.disk', z.object({ path: z.string() }));
export const limit = minutes(1);
export const doing = (id: string): AnyStep<Toy> =>
  step({ id, title: id, uses: ['world'], limit, run: ({ world }) => world.perform(id) });

export const findDisk = step({
  id: 'disk/find',
  title: 'Find the disk',
  uses: ['world'],
  gives: Disk,
  limit,
  run: async ({ world }) => {
    await world.perform('disk/find');
    return { path: '/dev/toy' };
  },
});
export const wipe = step({
  id: 'disk/wipe',
  title: 'Wipe the disk',
  uses: ['world'],
  needs: { disk: Disk },
  effect: 'destroys',
  limit,
  run: async ({ world }, { disk }) => {
    await world.perform(`wipe ${disk.path}`);
  },
});

export function worldOf(
  react: (what: string) => Promise<void> = () => Promise.resolve(),
): ToyWorld {
  const did: string[] = [];
  return {
    did,
    perform: async (what) => {
      await react(what);
      did.push(what);
    },
  };
}

interface ToyRun extends Partial<Pick<RunOptions<Toy>, 'beforeLeaving' | 'mask' | 'halt'>> {
  readonly clock?: FakeClock;
  readonly world?: ToyWorld;
  readonly journal?: MemoryJournal;
  readonly config?: ToyConfig;
  readonly signal?: AbortSignal;
  readonly bootId?: string;
}

export async function runToy(
  toy: ToyRole,
  { world = worldOf(), journal = memoryJournal(), clock = fakeClock(), ...more }: ToyRun = {},
): Promise<{
  outcome?: RunOutcome;
  error?: unknown;
  events: readonly RunEvent[];
  world: ToyWorld;
}> {
  const events: RunEvent[] = [];
  try {
    const outcome = await runRole({
      role: toy,
      config: more.config ?? { cleans: true },
      ports: { world },
      clock,
      journal,
      header: { version: '1', fingerprint: 'f', bootId: more.bootId ?? 'b' },
      run: 'r',
      sinks: [(event) => events.push(event)],
      signal: more.signal ?? new AbortController().signal,
      ...(more.beforeLeaving && { beforeLeaving: more.beforeLeaving }),
      ...(more.halt && { halt: more.halt }),
      ...(more.mask && { mask: more.mask }),
    });
    return { outcome, events, world };
  } catch (error) {
    return { error, events, world };
  }
}

export const toy = (parts: Omit<ToyRole, 'name' | 'title' | 'ladder'>): ToyRole =>
  role('toy', { title: 'A toy', ladder: 'master', ...parts });
export const types = (events: readonly RunEvent[]): readonly string[] =>
  events.map((event) => ('step' in event ? `${event.type} ${event.step}` : event.type));
