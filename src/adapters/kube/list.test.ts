import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { ApiServer } from './api-server.ts';
import { listAll, nextPage } from './list.ts';

interface Page {
  readonly version: string;
  readonly next: string;
}

/** A server that answers with pages of one object, named after their resourceVersion. */
function serverOf(pages: readonly Page[]) {
  const left = [...pages];
  const asked: string[] = [];
  const server: ApiServer = {
    ask: ({ path }, _signal, read) => {
      asked.push(path);
      const { version = '', next = '' } = left.shift() ?? {};
      const metadata = { resourceVersion: version, continue: next };
      const page = JSON.stringify({ items: [{ metadata: { name: `x${version}` } }], metadata });
      return read(Readable.from([Buffer.from(page)]));
    },
  };
  const kind = { group: '', version: 'v1', plural: 'nodes' };
  const list = () =>
    listAll(
      server,
      { selection: { kind }, keep: (object) => object },
      new AbortController().signal,
    );
  return { asked, left, list };
}

it('listAll returns the objects of all pages with the resourceVersion of the first', async () => {
  // A watch from a later resourceVersion would miss changes of the first page.
  const { asked, list } = serverOf([
    { version: '5', next: 'a' },
    { version: '6', next: 'b' },
    { version: '7', next: '' },
  ]);
  const { objects, version } = await list();
  expect(objects.map(({ metadata }) => metadata.name)).toEqual(['x5', 'x6', 'x7']);
  expect(version).toBe('5');
  expect(asked).toEqual([
    '/api/v1/nodes?limit=50',
    '/api/v1/nodes?limit=50&continue=a',
    '/api/v1/nodes?limit=50&continue=b',
  ]);
});

it.each([
  ['the same page', ['a', 'a']],
  ['an earlier page', ['a', 'b', 'a']],
])('listAll fails when the continue token repeats %s', async (_, tokens) => {
  const { left, list } = serverOf(tokens.map((next) => ({ version: '1', next })));
  await expect(list()).rejects.toMatchObject({ failure: { code: 'kube.failed' }, worth: 'soon' });
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
