import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { ApiServer } from './api-server.ts';
import { listAll, nextPage } from './list.ts';

it.each<[string, readonly string[]]>([
  ['the same page', ['a', 'a']],
  ['an earlier page', ['a', 'b', 'a']],
])('listAll fails when the continue token repeats %s', async (_, tokens) => {
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
  { of: 'objects of 1.5 MB', count: 50, bytes: 50 * 1.5e6, expected: 5 },
  { of: 'a page that is not full', count: 5, bytes: 5 * 2000, expected: 50 },
])('nextPage aims at pages of 128 KiB: $of', ({ count, bytes, expected }) => {
  expect(nextPage(count, bytes)).toBe(expected);
});
