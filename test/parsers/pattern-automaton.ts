/** What a part of a pattern begins and ends with; whether it matches nothing too. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly isNullable: boolean;
}

/** A place of a pattern: it reads a character, or looks at the one before (undefined at the beginning), or is the end. */
type Position =
  | { readonly kind: 'letter'; readonly matches: (letter: string) => boolean }
  | { readonly kind: 'behind'; readonly holds: (letter: string | undefined) => boolean }
  | { readonly kind: 'end' };

/** The automaton of a pattern. */
export interface Automaton {
  readonly positions: readonly Position[];
  /** Where each position leads to, and by how many ways. */
  readonly follow: readonly ReadonlyMap<number, number>[];
  readonly whole: Part;
  /** The bodies of assertions, each a pattern of its own. */
  readonly bodies: readonly string[];
}

const nothing: Part = { first: [], last: [], isNullable: true };

/** One character, as a pattern writes it. */
const letterForms =
  /\[(?:\\[^]|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|c[A-Za-z]|[^])|[^]/;

/** How often a quantifier takes what is before it, at least and at most. */
function boundsOf(quantifier: string): { readonly least: number; readonly most: number } {
  if (quantifier.startsWith('*')) return { least: 0, most: Infinity };
  if (quantifier.startsWith('+')) return { least: 1, most: Infinity };
  if (quantifier.startsWith('?')) return { least: 0, most: 1 };
  const [, least = '', comma, most = ''] = /^\{(\d+)(,?)(\d*)/.exec(quantifier) ?? [];
  return { least: Number(least), most: comma === '' ? Number(least) : Number(most || Infinity) };
}

/**
 * Builds the automaton of a pattern.
 * @throws RangeError for a pattern that it cannot read
 */
export function automatonOf(pattern: string, flags: string): Automaton {
  const positions: Position[] = [];
  const follow: Map<number, number>[] = [];
  const bodies: string[] = [];
  const classFlags = flags.replaceAll(/[^iusv]/g, '');
  let at = 0;
  /** How many bounded repetitions are under way: each doubles what is in it. */
  let bounded = 0;

  const place = (position: Position): Part => {
    const index = positions.push(position) - 1;
    follow.push(new Map());
    return { first: [index], last: [index], isNullable: false };
  };
  const link = (from: readonly number[], to: readonly number[]): void => {
    for (const ways of from.map((one) => follow[one]))
      for (const other of to) ways?.set(other, (ways.get(other) ?? 0) + 1);
  };
  const sequence = (one: Part, other: Part): Part => {
    link(one.last, other.first);
    return {
      first: one.isNullable ? [...one.first, ...other.first] : one.first,
      last: other.isNullable ? [...one.last, ...other.last] : other.last,
      isNullable: one.isNullable && other.isNullable,
    };
  };
  const take = (text: RegExp): string | undefined => {
    const sticky = new RegExp(text.source, 'y');
    sticky.lastIndex = at;
    const found = sticky.exec(pattern)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const testOf = (source: string): ((letter: string) => boolean) => {
    const test = new RegExp(`^(?:${source})$`, classFlags);
    return (letter) => test.test(letter);
  };

  const choice = (): Part => {
    let made = term();
    while (take(/\|/) !== undefined) {
      const other = term();
      made = {
        first: [...made.first, ...other.first],
        last: [...made.last, ...other.last],
        isNullable: made.isNullable || other.isNullable,
      };
    }
    return made;
  };
  const term = (): Part => {
    let made = nothing;
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')')
      made = sequence(made, repeated());
    return made;
  };
  const repeated = (): Part => {
    const start = at;
    const made = atom();
    const quantifier = take(/[*+?]\??|\{\d+(?:,\d*)?\}\??/);
    if (quantifier === undefined) return made;
    const { least, most } = boundsOf(quantifier);
    const again = { ...made, isNullable: made.isNullable || least === 0 };
    if (most === Infinity) link(made.last, made.first);
    if (most === Infinity || most < 2 || bounded > 2) return again;
    const end = at;
    at = start;
    bounded += 1;
    const second = atom();
    bounded -= 1;
    at = end;
    return sequence(again, { ...second, isNullable: second.isNullable || least < most });
  };
  const atom = (): Part => {
    if (take(/\^/) !== undefined) {
      const isPassed = testOf(flags.includes('m') ? '[\\n\\r\\u2028\\u2029]' : '[]');
      return place({ kind: 'behind', holds: (one) => one === undefined || isPassed(one) });
    }
    if (take(/\$/) !== undefined) return place({ kind: 'end' });
    if (take(/\\[bB]|\\[1-9]\d*|\\k<\w+>/) !== undefined) return nothing;
    const group = take(/\((?:\?(?:<?[=!]|[ims-]*:|<\w+>))?/);
    if (group !== undefined) return inGroup(group);
    const source = take(letterForms) ?? '';
    return place({ kind: 'letter', matches: testOf(source) });
  };
  const inGroup = (group: string): Part => {
    const from = at;
    const [known, knownBodies] = [positions.length, bodies.length];
    const made = choice();
    take(/\)/);
    if (!/[=!]$/.test(group)) return made;
    // An assertion reads nothing: its positions are given up, and its body is looked at by itself.
    const body = pattern.slice(from, at - 1);
    const isOne =
      positions.length === known + 1 && positions[known]?.kind === 'letter' && !made.isNullable;
    positions.length = known;
    follow.length = known;
    bodies.length = knownBodies;
    bodies.push(body);
    if (!group.includes('<') || !isOne) return nothing;
    const matches = testOf(body);
    const isWanted = group.endsWith('=');
    return place({
      kind: 'behind',
      holds: (one) => (one !== undefined && matches(one)) === isWanted,
    });
  };

  const whole = choice();
  if (at < pattern.length) throw new RangeError(`cannot read a pattern from ${pattern.slice(at)}`);
  return { positions, follow, whole, bodies };
}
