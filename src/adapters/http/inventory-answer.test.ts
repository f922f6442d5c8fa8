import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { type LastHosts, readAnswer } from './inventory-answer.ts';
import type { Records } from './inventory-schema.ts';

const url = 'http://a.example.com';
const read = <Name extends keyof Records>(
  record: Name,
  text: string,
  last: LastHosts = new Map(),
) => readAnswer(Readable.from([Buffer.from(text)]), record, { url, last });

it.each([
  ...['[null]', '[0]', '["a"]', '[[]]', '[{"id":"h"},0]', '[{"id":"h"}{"id":"i"}]', '[{"id":]}'],
  ...['{}', '[{"id":"h"}],"hosts":[]', '[{"id":"h"}'],
])('refuses %s as the hosts of a cluster', async (hosts) => {
  const text = `{"id":"c","status":"installing","hosts":${hosts}}`;
  await expect(read('installingCluster', text)).rejects.toMatchObject({
    code: 'inventory.unreadable',
  });
});

it.each(['[null]', '[{"id":"h"},0]', '[{"id":"h"}][]', '{"hosts":[]}', '0'])(
  'refuses %s as a list of hosts',
  async (text) => {
    await expect(read('hosts', text)).rejects.toMatchObject({ code: 'inventory.unreadable' });
  },
);

it('reuses the object of a host while its text is unchanged', async () => {
  const last: LastHosts = new Map();
  const hostsOf = async (...hosts: readonly string[]) => {
    const text = `{"id":"c","status":"installing","hosts":[${hosts.join()}]}`;
    return (await read('installingCluster', text, last)).hosts;
  };
  const [a, b] = ['{"id":"a","status":"installing"}', '{"id":"b","status":"installing"}'];
  const [first] = await hostsOf(a, b);
  expect((await hostsOf(b, a))[1]).toBe(first);
  expect(await hostsOf(a, a)).toEqual([first, first]);
  const changed = await hostsOf(a.replace('installing', 'installed'));
  expect(changed).toMatchObject([{ id: 'a', status: 'installed' }]);
  // The hosts of earlier answers are forgotten.
  expect(last.get('installingCluster')?.size).toBe(1);
});

const mebibyte = 'x'.repeat(1024 ** 2);

/** Reads a text of many mebibytes between a first and a last part. */
async function readLong(record: keyof Records, [first, each, last]: readonly string[]) {
  const chunks = function* (): Generator<Buffer> {
    yield Buffer.from(first!);
    for (let count = 0; count < 17; count += 1) {
      yield Buffer.from(each!.replace('N', String(count)).replace('X', mebibyte));
    }
    yield Buffer.from(last!);
  };
  return readAnswer(Readable.from(chunks()), record, { url, last: new Map() });
}

const longHost = '{"id":"N","inventory":"X"},';

it.each([
  ['clusterHosts', ['{"hosts":[', longHost, '{"id":"h"}]}']],
  ['hosts', ['[', longHost, '{"id":"h"}]']],
] as const)('reads %s that together exceed the size limit of one record', async (record, text) => {
  expect(await readLong(record, text)).toHaveLength(18);
});
