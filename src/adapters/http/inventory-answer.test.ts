import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readAnswer } from './inventory-answer.ts';
import type { Records } from './inventory-schema.ts';

const url = 'http://a.example.com';
const read = (record: keyof Records, text: string) =>
  readAnswer(Readable.from([Buffer.from(text)]), record, url);

it.each([
  ...['[null]', '[0]', '["a"]', '[[]]', '[{"id":"h"},0]', '[{"id":"h"}{"id":"i"}]', '[{"id":]}'],
  ...['{}', '[{"id":"h"}],"hosts":[]', '[{"id":"h"}'],
])('does not take %s for a list of hosts', async (hosts) => {
  const text = `{"id":"c","status":"installing","hosts":${hosts}}`;
  await expect(read('installingCluster', text)).rejects.toMatchObject({
    code: 'inventory.unreadable',
  });
});

it.each(['[null]', '[{"id":"h"},0]', '[{"id":"h"}][]', '{"hosts":[]}', '0'])(
  'does not take %s for hosts by themselves',
  async (text) => {
    await expect(read('hosts', text)).rejects.toMatchObject({ code: 'inventory.unreadable' });
  },
);

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
  return readAnswer(Readable.from(chunks()), record, url);
}

const longHost = '{"id":"N","inventory":"X"},';

it.each([
  ['clusterHosts', ['{"hosts":[', longHost, '{"id":"h"}]}']],
  ['hosts', ['[', longHost, '{"id":"h"}]']],
] as const)('reads %s of which all together are longer than one may be', async (record, text) => {
  expect(await readLong(record, text)).toHaveLength(18);
});
