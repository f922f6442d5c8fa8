// How the time of a regular expression grows with its text, by a small analysis of its automaton. The positions of a
// pattern are the states (Glushkov); a search may begin at any place, for which further states stand.
// - One state with two ways back to itself by the same text: exponential.
// - Two states, each with a way back, and a way from one to the other, all by the same text: at least quadratic.
// Where a match comes in between nothing is tried again. Assertions but ^, $ and one character behind count as true, a
// bounded repetition as two, a back reference as nothing: it is found rather too often than too seldom.
import { automatonOf, type Automaton } from './pattern-automaton.ts';

/** Characters that patterns tell from each other: ASCII, and some beyond. */
const samples: readonly string[] = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...['\u0085', '\u00a0', '\u00ad', 'é', 'ſ', '\u200b', '\u2028', '漢', '\ufeff', '\ud83d'],
];

const isLineEnd = (letter: string): boolean => /[\n\r\u2028\u2029]/.test(letter);

interface Graph {
  readonly states: readonly number[];
  /** Where a state leads to, by each letter. */
  readonly next: (state: number) => readonly (readonly number[])[];
  /** Whether whoever comes here has a match, at once or at the end of the text. */
  readonly accepts: (state: number) => boolean;
  readonly isDouble: (from: number, to: number) => boolean;
}

function graphOf({ positions, follow, whole }: Automaton, flags: string): Graph {
  const reads = (state: number, letter: string): boolean => {
    const position = positions[state];
    return position?.kind === 'letter' && position.matches(letter);
  };
  const states = positions.flatMap(({ kind }, index) => (kind === 'letter' ? [index] : []));
  /** What the assertions say of the character before them; undefined is the beginning of the text. */
  const behind = (letter: string | undefined): string =>
    positions
      .map((position) => (position.kind === 'behind' && position.holds(letter) ? '1' : '0'))
      .join('');
  const kindOf = (letter: string): string =>
    [
      ...states.map((state) => Number(reads(state, letter))),
      behind(letter),
      isLineEnd(letter),
    ].join();
  const letters = [...new Map(samples.map((sample) => [kindOf(sample), sample])).values()];
  const pasts = [...new Set(letters.map(behind))];

  /** The positions that read a letter, of those that may come next behind a character. */
  const reading = (letter: string, from: Iterable<number>, past: string): readonly number[] => {
    const found = new Set<number>();
    const left = [...from];
    for (let one = left.pop(); one !== undefined; one = left.pop()) {
      if (found.has(one)) continue;
      found.add(one);
      if (past[one] === '1') left.push(...(follow[one]?.keys() ?? []));
    }
    return [...found].filter((one) => reads(one, letter));
  };
  const table = new Map<number, readonly (readonly number[])[]>();
  const searches = flags.includes('y') ? [] : pasts.map((_, index) => -1 - index);
  for (const [index, state] of searches.entries())
    table.set(
      state,
      letters.map((letter) => [
        -1 - pasts.indexOf(behind(letter)),
        ...reading(letter, whole.first, pasts[index] ?? ''),
      ]),
    );
  for (const state of states) {
    const to = [...(follow[state]?.keys() ?? [])];
    const own = [...new Set(letters.filter((letter) => reads(state, letter)).map(behind))];
    table.set(
      state,
      letters.map((letter) => [...new Set(own.flatMap((past) => reading(letter, to, past)))]),
    );
  }
  const next = (state: number): readonly (readonly number[])[] => table.get(state) ?? [];
  const isAtEnd = (state: number): boolean =>
    [...(follow[state]?.keys() ?? [])].some(
      (one) => positions[one]?.kind === 'end' && whole.last.includes(one),
    );
  return {
    states: [...searches, ...states],
    next,
    accepts: (state) =>
      whole.last.includes(state) ||
      (isAtEnd(state) &&
        letters.every(
          (letter, index) =>
            next(state)[index]?.includes(state) === true ||
            (flags.includes('m') && isLineEnd(letter)),
        )),
    isDouble: (from, to) => (follow[from]?.get(to) ?? 0) > 1,
  };
}

type Reachable = ReadonlyMap<number, ReadonlySet<number>>;

/** The states that each state comes to, by one letter or more. */
const reachOf = ({ states, next }: Graph): Reachable =>
  new Map(
    states.map((state) => {
      const found = new Set<number>();
      const left = [state];
      for (let one = left.pop(); one !== undefined; one = left.pop())
        for (const to of next(one).flat()) {
          if (found.has(to)) continue;
          found.add(to);
          left.push(to);
        }
      return [state, found];
    }),
  );

/** How fast the time of a pattern grows with the text. */
export type Growth = 'linear' | 'quadratic' | 'exponential';

/**
 * How the time of a search for a regular expression grows; `quadratic` may be worse by a power.
 * @throws RangeError for a pattern that it cannot read
 */
export function growthOf(pattern: string, flags: string): Growth {
  if (!/[*+]|,\}/.test(pattern)) return 'linear';
  const automaton = automatonOf(pattern, flags);
  const graph = graphOf(automaton, flags);
  const reach = reachOf(graph);
  const leads = (from: number, to: number): boolean => reach.get(from)?.has(to) === true;
  const turning = graph.states.filter((state) => leads(state, state) && !graph.accepts(state));
  const bodies = automaton.bodies.map((body) => growthOf(body, flags.replace('y', '')));
  if (bodies.includes('exponential') || turning.some((state) => hasTwoWays(graph, leads, state)))
    return 'exponential';
  const isSlow = turning.some((from) =>
    turning.some((to) => from !== to && leads(from, to) && isPumped(graph, leads, [from, to])),
  );
  return isSlow || bodies.includes('quadratic') ? 'quadratic' : 'linear';
}

type Leads = (from: number, to: number) => boolean;

/** Whether two ways lead from a state back to it by the same text. */
const hasTwoWays = (graph: Graph, leads: Leads, state: number): boolean =>
  isFound({
    graph,

    from: [state, state],
    isAllowed: (one) => leads(one, state) && !graph.accepts(one),
    isGoal: ([one, other], [before, beside]) =>
      one === other && (before !== beside ? one === state : graph.isDouble(before ?? 0, one ?? 0)),
  });

/** Whether one text leads from the first state to itself, from it to the second, and from the second to itself. */
const isPumped = (
  graph: Graph,
  leads: Leads,
  [first, second]: readonly [number, number],
): boolean =>
  isFound({
    graph,
    from: [first, first, second],
    isAllowed: (one, place) =>
      leads(one, place === 0 ? first : second) && (place === 0 || !graph.accepts(one)),
    isGoal: ([one, other, last]) => one === first && other === second && last === second,
  });

interface Walk {
  readonly graph: Graph;
  readonly from: readonly number[];
  readonly isAllowed: (state: number, place: number) => boolean;
  readonly isGoal: (at: readonly number[], before: readonly number[]) => boolean;
}

/** Walks several ways beside each other, all by the same letters, until the goal is seen. */
function isFound({ graph, from, isAllowed, isGoal }: Walk): boolean {
  const seen = new Set<string>();
  const left = [from];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const steps = at.map((state) => graph.next(state));
    const letters = [...(steps[0]?.keys() ?? [])];
    const reached = letters.flatMap((letter) =>
      combined(
        steps.map((step, place) => (step[letter] ?? []).filter((one) => isAllowed(one, place))),
      ),
    );
    for (const to of reached) {
      if (isGoal(to, at)) return true;
      const name = to.join();
      if (!seen.has(name)) left.push(to);
      seen.add(name);
    }
  }
  return false;
}

const combined = (choices: readonly (readonly number[])[]): readonly (readonly number[])[] =>
  choices.reduce<readonly (readonly number[])[]>(
    (made, choice) => made.flatMap((one) => choice.map((state) => [...one, state])),
    [[]],
  );
