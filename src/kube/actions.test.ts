import { expect, it } from 'vitest';
import { type Action, performActions } from './actions.ts';

interface Step extends Action {
  readonly type: 'take' | 'give';
  readonly amount: number;
}
type Seen = readonly Step[];

const step = (type: Step['type'], target: string, amount = 0): Step => ({ type, target, amount });
const live = new AbortController().signal;

async function performed(seen: Seen, now: Seen | undefined, breaks: readonly string[] = []) {
  const done: string[] = [];
  const perform = ({ type, target, amount }: Step): Promise<void> => {
    done.push(`${type} ${target} ${amount}`);
    return breaks.includes(target) ? Promise.reject(new Error(target)) : Promise.resolve();
  };
  const failure = await performActions<Seen, Step>(
    {
      seen,
      decide: (all) => all,
      readAgain: () => Promise.resolve(now),
      table: { take: perform, give: perform },
    },
    live,
  ).catch((error: unknown) => error);
  return { done, failure };
}

it('does what is decided once more, as it is decided then', async () => {
  const { done } = await performed([step('take', 'a', 1)], [step('take', 'a', 2)]);
  expect(done).toEqual(['take a 2']);
});

it.each<[string, Seen | undefined]>([
  ['is decided no longer', []],
  ['is decided of something else', [step('take', 'b')]],
  ['has become another action', [step('give', 'a')]],
  ['may not be done now', undefined],
])('does nothing that %s', async (_, now) => {
  expect((await performed([step('take', 'a')], now)).done).toEqual([]);
});

it('does nothing that only the fresh reading shows', async () => {
  expect((await performed([], [step('take', 'a')])).done).toEqual([]);
});

it('lets no action wait for one that fails, and fails with the first', async () => {
  const all = Array.from({ length: 20 }, (_, number) => step('give', `${number}`));
  const { done, failure } = await performed(all, all, ['0', '3']);
  expect(done).toHaveLength(20);
  expect(failure).toEqual(new Error('0'));
});
