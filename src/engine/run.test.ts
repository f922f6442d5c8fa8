import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { memoryJournal, type MemoryJournal } from '../../test/support/memory-journal.ts';
import { minutes, seconds } from '../model/duration.ts';
import { failuresOf } from '../model/failure.ts';
import { role } from './check.ts';
import { condition } from './condition.ts';
import type { RunEvent } from './events.ts';
import { fact } from './fact.ts';
import { lanes, type Role } from './role.ts';
import { runRole, type RunOutcome } from './run.ts';
import { type AnyStep, stepsOf } from './step.ts';

interface ToyConfig {
  readonly cleans: boolean;
}
interface World {
  readonly did: string[];
  readonly act: (what: string) => Promise<void>;
}
interface ToyPorts {
  readonly world: World;
}
type ToyRole = Role<ToyConfig, ToyPorts>;

const failure = failuresOf({
  'toy.broken': { kind: 'host', title: 't', hint: 'h' },
  'toy.wrong': { kind: 'input', title: 't', hint: 'h' },
});
const step = stepsOf<ToyConfig, ToyPorts>();
const Disk = fact('toy.disk', z.object({ path: z.string() }));
const limit = minutes(1);
const doing = (id: string): AnyStep<ToyConfig, ToyPorts> =>
  step({ id, title: id, uses: ['world'], limit, run: ({ world }) => world.act(id) });

const findDisk = step({
  id: 'disk/find',
  title: 'Find the disk',
  uses: ['world'],
  gives: Disk,
  limit,
  run: async ({ world }) => {
    await world.act('disk/find');
    return { path: '/dev/toy' };
  },
});
const wipe = step({
  id: 'disk/wipe',
  title: 'Wipe the disk',
  uses: ['world'],
  needs: { disk: Disk },
  destroys: true,
  limit,
  run: async ({ world }, { disk }) => {
    await world.act(`wipe ${disk.path}`);
  },
});

function worldOf(react: (what: string) => Promise<void> = () => Promise.resolve()): World {
  const did: string[] = [];
  return {
    did,
    act: async (what) => {
      await react(what);
      did.push(what);
    },
  };
}

interface Play {
  readonly world?: World;
  readonly journal?: MemoryJournal;
  readonly config?: ToyConfig;
  readonly signal?: AbortSignal;
  readonly bootId?: string;
}

async function play(
  toy: ToyRole,
  { world = worldOf(), journal = memoryJournal(), ...more }: Play = {},
): Promise<{ outcome?: RunOutcome; error?: unknown; events: readonly RunEvent[]; world: World }> {
  const events: RunEvent[] = [];
  try {
    const outcome = await runRole({
      role: toy,
      config: more.config ?? { cleans: true },
      ports: { world },
      clock: fakeClock(),
      journal,
      header: { version: '1', fingerprint: 'f', bootId: more.bootId ?? 'b' },
      run: 'r',
      sinks: [(event) => events.push(event)],
      signal: more.signal ?? new AbortController().signal,
    });
    return { outcome, events, world };
  } catch (error) {
    return { error, events, world };
  }
}

const toy = (parts: Omit<ToyRole, 'name' | 'title' | 'ladder'>): ToyRole =>
  role('toy', { title: 'A toy', ladder: 'master', ...parts });
const types = (events: readonly RunEvent[]): readonly string[] =>
  events.map((event) => ('step' in event ? `${event.type} ${event.step}` : event.type));

describe('a run', () => {
  it('goes through its steps and hands facts on', async () => {
    const { outcome, world, events } = await play(toy({ steps: [findDisk, wipe] }));
    expect(outcome).toBe('finished');
    expect(world.did).toEqual(['disk/find', 'wipe /dev/toy']);
    expect(types(events)).toEqual([
      'run.started',
      'step.started disk/find',
      'step.finished disk/find',
      'step.started disk/wipe',
      'step.finished disk/wipe',
      'run.finished',
    ]);
  });

  it('leaves out what the configuration does not ask for', async () => {
    const cleans = condition<ToyConfig>('the disk is cleaned', (config) => config.cleans);
    const { world, events } = await play(toy({ steps: [{ ...doing('a/clean'), when: cleans }] }), {
      config: { cleans: false },
    });
    expect(world.did).toEqual([]);
    expect(types(events)).toContain('step.skipped a/clean');
  });

  it('leaves out what earlier facts make needless', async () => {
    const needless = { ...wipe, skipIf: () => 'nothing is on the disk' };
    const { world } = await play(toy({ steps: [findDisk, needless] }));
    expect(world.did).toEqual(['disk/find']);
  });

  it('gives a step the ports it names and no others', async () => {
    const seen: string[] = [];
    const nosy = step({
      id: 'a/nosy',
      title: 'Look around',
      uses: [],
      limit,
      run: (scope) => {
        seen.push(...Object.keys(scope));
        return Promise.resolve();
      },
    });
    await play(toy({ steps: [nosy] }));
    expect(seen).not.toContain('world');
  });

  it('says that it leaves the host, after what always runs', async () => {
    const reboot = { ...doing('host/reboot'), leaves: true };
    const { outcome, world } = await play(
      toy({ steps: [doing('a/one'), reboot], always: [doing('logs/collect')] }),
    );
    expect(outcome).toBe('left the host');
    expect(world.did).toEqual(['a/one', 'logs/collect', 'host/reboot']);
  });
});

describe('a step that fails', () => {
  const breaks = (times: number, code: 'toy.broken' | 'toy.wrong' = 'toy.broken') => {
    let left = times;
    return worldOf((what) => {
      if (what !== 'a/two' || left === 0) return Promise.resolve();
      left -= 1;
      return Promise.reject(failure(code, 'it broke'));
    });
  };
  const three = toy({
    steps: [doing('a/one'), doing('a/two'), doing('a/three')],
    always: [doing('logs/collect')],
  });

  it('ends the run with its own failure, after what always runs', async () => {
    const { error, world, events } = await play(three, { world: breaks(1) });
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(world.did).toEqual(['a/one', 'logs/collect']);
    expect(types(events).at(-1)).toBe('run.failed');
  });

  it('is tried again as often as it says', async () => {
    const retried = { ...doing('a/two'), retry: { attempts: 3, every: seconds(1) } };
    const { outcome, events } = await play(toy({ steps: [retried] }), { world: breaks(2) });
    expect(outcome).toBe('finished');
    expect(events.filter(({ type }) => type === 'step.retrying')).toHaveLength(2);
  });

  it('is not tried again when a second attempt cannot help', async () => {
    const retried = { ...doing('a/two'), retry: { attempts: 3, every: seconds(1) } };
    const { error, events } = await play(toy({ steps: [retried] }), {
      world: breaks(1, 'toy.wrong'),
    });
    expect(error).toMatchObject({ code: 'toy.wrong' });
    expect(events.filter(({ type }) => type === 'step.retrying')).toHaveLength(0);
  });

  it('undoes what it set up, last first, and keeps its own failure', async () => {
    const undone: string[] = [];
    const sets = step({
      id: 'a/mount',
      title: 'Mount',
      uses: ['world'],
      limit,
      run: ({ onExit }) => {
        onExit(() => Promise.resolve(void undone.push('first')), 'always');
        onExit(() => Promise.reject(new Error('cannot unmount')), 'failure');
        onExit(() => Promise.resolve(void undone.push('last')), 'failure');
        return Promise.reject(failure('toy.broken', 'it broke'));
      },
    });
    const { error, events } = await play(toy({ steps: [sets] }));
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(undone).toEqual(['last', 'first']);
    expect(events).toContainEqual(expect.objectContaining({ type: 'note', level: 'warn' }));
  });

  it('that takes too long is stopped and says so', async () => {
    const slow = step({
      id: 'a/slow',
      title: 'Take long',
      uses: [],
      limit: seconds(5),
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('an echo'));
          });
        }),
    });
    const { error } = await play(toy({ steps: [slow] }));
    expect(error).toMatchObject({ code: 'step.timed-out', context: { step: 'a/slow' } });
  });

  it('that does not stop when told is left behind', async () => {
    const deaf = step({
      id: 'a/deaf',
      title: 'Hear nothing',
      uses: [],
      limit: seconds(5),
      run: () => Promise.withResolvers<void>().promise,
    });
    const { error } = await play(toy({ steps: [deaf] }));
    expect(error).toMatchObject({ code: 'step.timed-out' });
  });

  it('with something that is no failure of ours is a bug', async () => {
    const world = worldOf(() => Promise.reject(new TypeError('x is undefined')));
    const { error } = await play(toy({ steps: [doing('a/one')] }), { world });
    expect(error).toMatchObject({ code: 'run.unexpected', kind: 'bug' });
  });
});

describe('lanes', () => {
  it('hand facts to each other and are all through before the next step', async () => {
    const { world } = await play(
      toy({ steps: [lanes({ one: [wipe], two: [doing('b/slow'), findDisk] }), doing('a/end')] }),
    );
    expect(world.did).toEqual(['b/slow', 'disk/find', 'wipe /dev/toy', 'a/end']);
  });

  it('stop each other, and the first failure is the one that is told', async () => {
    const stops: string[] = [];
    const waits = step({
      id: 'a/waits',
      title: 'Wait',
      uses: [],
      limit,
      run: ({ signal }) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener('abort', () => {
            stops.push('a/waits');
            reject(failure('toy.wrong', 'an echo'));
          });
        }),
    });
    const world = worldOf(() => Promise.reject(failure('toy.broken', 'it broke')));
    const { error, events } = await play(
      toy({ steps: [lanes({ one: [waits], two: [doing('b/breaks')] })] }),
      { world },
    );
    expect(error).toMatchObject({ code: 'toy.broken' });
    expect(stops).toEqual(['a/waits']);
    expect(types(events)).toContain('step.stopped a/waits');
    expect(types(events).filter((type) => type.startsWith('step.failed'))).toEqual([
      'step.failed b/breaks',
    ]);
  });
});

describe('steps beside the main line', () => {
  it('that follow end with it and cannot fail it', async () => {
    const watch = step({
      id: 'follow/hosts',
      title: 'Watch',
      uses: [],
      limit: minutes(60),
      run: () => Promise.reject(failure('toy.broken', 'the log is gone')),
    });
    const { outcome, events } = await play(toy({ steps: [doing('a/one')], follow: [watch] }));
    expect(outcome).toBe('finished');
    expect(types(events)).toContain('step.failed follow/hosts');
  });
});

describe('a stop from outside', () => {
  it('ends the run with the reason and without what always runs', async () => {
    const control = new AbortController();
    const world = worldOf((what) => {
      if (what === 'a/two') control.abort(failure('toy.broken', 'stopped'));
      return Promise.resolve();
    });
    const { error, events } = await play(
      toy({ steps: [doing('a/two'), doing('a/three')], always: [doing('logs/collect')] }),
      { world, signal: control.signal },
    );
    expect(error).toMatchObject({ message: 'stopped' });
    expect(world.did).toEqual(['a/two']);
    expect(types(events).at(-1)).toBe('run.stopped');
  });
});

describe('a run that goes on after a crash', () => {
  const reboot = step({
    id: 'host/reboot',
    title: 'Reboot',
    uses: ['world'],
    leaves: true,
    rerun: 'probe',
    limit,
    probe: ({ world }) =>
      Promise.resolve(
        world.did.includes('reboot') ? { isDone: true, fact: undefined } : { isDone: false },
      ),
    run: ({ world }) => world.act('reboot'),
  });
  const whole = toy({ steps: [findDisk, wipe, doing('a/three'), reboot] });

  it('reaches the same world from every point of a crash, and finished steps run once', async () => {
    const { world: straight, outcome } = await play(whole);
    expect(outcome).toBe('left the host');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 12 }), fc.boolean(), async (crashAfter, losesUnflushed) => {
        const journal = memoryJournal([], { crashAfter: crashAfter + 1, losesUnflushed });
        const world = worldOf();
        const first = await play(whole, { world, journal });
        journal.restart();
        const finished = journal
          .entries()
          .flatMap((entry) => (entry.type === 'finished' ? [entry.step] : []));
        const before = [...world.did];
        const second = await play(whole, { world, journal });
        expect(second.error).toBeUndefined();
        expect(new Set(world.did)).toEqual(new Set(straight.did));
        expect(world.did.filter((what) => what === 'reboot')).toHaveLength(1);
        const again = world.did.slice(before.length);
        for (const step of finished) expect(again).not.toContain(step);
        expect(first.outcome === undefined || again.length === 0).toBe(true);
      }),
    );
  });

  it('begins anew after the host was started again', async () => {
    const journal = memoryJournal();
    await play(whole, { journal });
    const { world } = await play(whole, { journal, bootId: 'another' });
    expect(world.did).toContain('disk/find');
    expect(journal.old).toHaveLength(1);
  });

  it('stops before a step that must not run twice', async () => {
    const once = toy({
      steps: [{ ...doing('a/once'), rerun: 'never' as const, lookAt: 'look at the moon' }],
    });
    const journal = memoryJournal([], { crashAfter: 2 });
    await play(once, { journal });
    journal.restart();
    const { error } = await play(once, { journal });
    expect(error).toMatchObject({ code: 'run.in-doubt', hint: 'look at the moon' });
  });

  it('runs a step again whose work ends with the process', async () => {
    const lock = toy({ steps: [{ ...doing('a/lock'), rerun: 'always' as const }] });
    const journal = memoryJournal();
    const world = worldOf();
    await play(lock, { journal, world });
    await play(lock, { journal, world });
    expect(world.did).toEqual(['a/lock', 'a/lock']);
  });
});
