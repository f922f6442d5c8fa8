// Generates malicious input from valid input. The same seed generates the same input.

/** Numbers from 0 to below 1, the same for the same seed (Mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Texts that replace a value or are inserted between others. */
const texts: readonly string[] = [
  ...[
    '[',
    '{',
    '{"a":',
    '[{"a":',
    '- ',
    '? ',
    '{a: ',
    '&a ',
    '*a',
    '*a.b',
    '!!binary ',
    '|\n',
    '---\n',
  ],
  ...[
    'null',
    'true',
    '-0',
    '1e999',
    '99999999999999999999',
    '0x7fffffffffffffff',
    '.inf',
    '""',
    "'",
  ],
  ...[
    '"__proto__"',
    '"constructor"',
    '"\\ud800"',
    '\0',
    '\u001b[2J',
    '\ufeff',
    '\r\n',
    '\u2028',
    '漢',
  ],
  ...[
    '9999-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
    '../../etc/passwd',
    '<<: ',
    ',',
    ':',
    ' ',
    '\t',
  ],
];

/** Bytes that a forged input has about, where it is made longer. */
const sizes = [200, 2000, 20_000, 200_000, 1_000_000];

/** Makes one forged input of one that is right: one to four changes, each of another kind. */
export function forged(right: Buffer, seed: number): Buffer {
  const random = randomOf(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const slice = (bytes: Buffer): Buffer => {
    const from = below(bytes.length);
    return bytes.subarray(from, from + 1 + below(60));
  };
  const put = (bytes: Buffer, insert: Buffer, over = 0): Buffer => {
    const at = below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + over)]);
  };
  const many = (unit: Buffer): Buffer =>
    Buffer.alloc(Math.max(unit.length, pick(sizes)), unit.length === 0 ? ' ' : unit);
  const changes: readonly ((bytes: Buffer) => Buffer)[] = [
    (bytes) => put(bytes, many(slice(bytes))),
    (bytes) => put(bytes, many(Buffer.from(pick(texts)))),
    (bytes) => put(bytes, Buffer.from(pick(texts)), below(8)),
    (bytes) => put(bytes, slice(bytes), below(40)),
    (bytes) => put(bytes, Buffer.from([below(256)]), 1),
    (bytes) => bytes.subarray(0, below(bytes.length)),
    (bytes) => many(bytes),
  ];
  // Invalid JSON tests only the syntax: every other seed changes values.
  if (seed % 2 === 0 && right[0] === 0x7b) return forgedJson(right, { below, pick });
  let bytes = right;
  for (let count = 1 + below(4); count > 0; count -= 1) bytes = pick(changes)(bytes);
  return bytes.subarray(0, 1_500_000);
}

interface Choice {
  readonly below: (most: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
}

/**
 * The same object with one value exchanged: by one of another type, by an extreme, by many or by
 * deep ones.
 */
function forgedJson(right: Buffer, { below, pick }: Choice): Buffer {
  const values = right.toString().split(/(?<=[:[,])(?=["\d[{tfn-])/);
  const at = 1 + below(values.length - 1);
  const depth = pick([10, 1000, 100_000]);
  const own = /^(?:"[^"]*"|[\w.-]+)/.exec(values[at] ?? '')?.[0];
  const inserts = [
    ...texts.filter((text) => /^(?:null|true|-0|1e999|\d+|"[^]*")$/.test(text)),
    `"${'a'.repeat(pick(sizes))}"`,
    `[${`${own ?? '0'},`.repeat(pick(sizes) / 10)}0]`,
    `${'['.repeat(depth)}${']'.repeat(depth)}`,
    `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`,
    `{${Array.from({ length: pick(sizes) / 20 }, (_, index) => `"k${index}":0`).join()}}`,
  ];
  const rest = own === undefined ? `,${values[at] ?? ''}` : (values[at] ?? '').slice(own.length);
  return Buffer.from(values.with(at, `${pick(inserts)}${rest}`).join(''));
}
