import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { ApiServer } from './api-server.ts';
import { listAll, nextPage } from './list.ts';

it.each<[string, readonly string[]]>([
  ['the page that was asked for', ['a', 'a']],
  ['a page before it', ['a', 'b', 'a']],
])('ends a list that is continued by %s', async (_, tokens) => {
  const left = [...tokens];
  const server: ApiServer = {
    ask: (_what, _signal, read) => {
      const metadata = { resourceVersion: '1', continue: left.shift() ?? 'a' };
      const page = JSON.stringify({ items: [{ metadata: { name: 'x' } }], metadata });
      return read(Readable.from([Buffer.from(page)]));
    },
  };
  const kind = { group: '', version: 'v1', plural: 'nodes' };
  const listed = listAll(
    server,
    { selection: { kind }, keep: (object) => object },
    new AbortController().signal,
  );
  await expect(listed).rejects.toMatchObject({ failure: { code: 'kube.failed' }, worth: 'soon' });
  expect(left).toEqual([]);
});

it.each([
  { of: 'small objects', count: 50, bytes: 50 * 1500, expected: 50 },
  { of: 'nodes', count: 50, bytes: 50 * 20_000, expected: 6 },
  { of: 'the largest there are', count: 50, bytes: 50 * 1.5e6, expected: 5 },
  { of: 'a page that has less than was asked for', count: 5, bytes: 5 * 2000, expected: 50 },
])('asks for as many objects next as have 128 KiB: $of', ({ count, bytes, expected }) => {
  expect(nextPage(count, bytes)).toBe(expected);
});
