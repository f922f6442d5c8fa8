import { expect, it } from 'vitest';
import { type ParsedHosts, recordReader } from './inventory-answer.ts';

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
