import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { type ParsedHosts, readAnswer, recordReader } from './inventory-answer.ts';
import type { Records } from './inventory-schema.ts';

const answerOf = (hosts: string): string => `{"id":"c","status":"installing","hosts":${hosts}}`;

it.each([
  ...['[null]', '[0]', '["a"]', '[[]]', '[{"id":"h"},0]', '[{"id":"h"}{"id":"i"}]', '[{"id":]}'],
  ...['{}', '[{"id":"h"}],"hosts":[]', '[{"id":"h"}'],
])('does not take %s for a list of hosts', (hosts) => {
  const reader = recordReader('installingCluster');
  expect(() => {
    reader.write(answerOf(hosts));
    reader.end();
  }).toThrow();
});

it('reads a host once, as long as its text is the same', () => {
  let known: ParsedHosts = new Map();
  const read = (...hosts: readonly string[]) => {
    const reader = recordReader('installingCluster', known);
    reader.write(answerOf(`[${hosts.join()}]`));
    const cluster = reader.end();
    known = reader.hosts;
    return cluster.hosts;
  };
  const [a, b] = ['{"id":"a","status":"installing"}', '{"id":"b","status":"installing"}'];
  const [one] = read(a, b);
  expect(read(b, a)[1]).toBe(one);
  const [changed] = read(a.replace('installing', 'installed'));
  expect(changed).toMatchObject({ id: 'a', status: 'installed' });
  // What an answer no longer has is forgotten.
  expect(known.size).toBe(1);
});

it.each(['[null]', '[{"id":"h"},0]', '[{"id":"h"}][]', '{"hosts":[]}', '0'])(
  'does not take %s for hosts by themselves',
  (text) => {
    const reader = recordReader('hosts');
    reader.write(text);
    expect(() => reader.end()).toThrow();
  },
);

const mebibyte = 'x'.repeat(1024 ** 2);

/** Reads a text between that many mebibytes, each of which begins and ends with something. */
async function readLong(record: keyof Records, [first, each, last]: readonly string[]) {
  const chunks = function* (): Generator<Buffer> {
    yield Buffer.from(first!);
    for (let count = 0; count < 17; count += 1) {
      yield Buffer.from(each!.replace('N', String(count)).replace('X', mebibyte));
    }
    yield Buffer.from(last!);
  };
  return readAnswer(Readable.from(chunks()), {
    record,
    url: 'http://a.example.com',
    known: new Map(),
  });
}

const longHost = '{"id":"N","inventory":"X"},';

it.each([
  ['clusterHosts', ['{"hosts":[', longHost, '{"id":"h"}]}']],
  ['hosts', ['[', longHost, '{"id":"h"}]']],
] as const)('reads %s of which all together are longer than one may be', async (record, text) => {
  expect(await readLong(record, text)).toHaveLength(18);
});

it.each([
  ['clusterHosts', ['{"hosts":[{"id":"', 'X', '"}]}']],
  ['hosts', ['[{"id":"', 'X', '"}]']],
  ['cluster', ['{"id":"', 'X', '"}']],
  ['operators', ['[', '{"name":"X"},', '{"name":"a"}]']],
] as const)('refuses %s with a part that fills the memory', async (record, text) => {
  await expect(readLong(record, text)).rejects.toMatchObject({
    code: 'inventory.unreadable',
    message: 'a part of the answer of http://a.example.com is longer than 16 MiB',
  });
});
