import { afterEach, expect, it, vi } from 'vitest';
import { isContained, jsonIn } from './json.ts';

afterEach(() => vi.restoreAllMocks());

it('does not parse a long text that is nested too deeply: 20 MB took 1.5 GB', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const deep = '['.repeat(2 ** 20 + 1);
  for (const text of [deep, `${deep}${']'.repeat(2 ** 20)}`, `{"a":${deep}`])
    expect(jsonIn(text)).toBeUndefined();
  expect(parse).not.toHaveBeenCalled();
});

it('parses a long text that is not nested deeply', () => {
  const wide = `{"a":[${'[],{"":"["},'.repeat(2 ** 17)}0]}`;
  expect(jsonIn(wide)).toMatchObject({ a: { length: 2 ** 18 + 1 } });
});

const sent = { metadata: { name: 'a' }, spec: { list: [{ x: 1 }], empty: '', none: null } };
it.each([
  ['accepts an equal object', sent, true],
  [
    'accepts an object with members added by the server',
    {
      metadata: { name: 'a', uid: 'u' },
      spec: { list: [{ x: 1, y: 2 }] },
      status: {},
    },
    true,
  ],
  [
    'rejects an object with a different value',
    { ...sent, spec: { ...sent.spec, list: [{ x: 2 }] } },
    false,
  ],
  ['rejects an object with a longer list', { ...sent, spec: { list: [{ x: 1 }, {}] } }, false],
  ['rejects an object without a member', { metadata: { name: 'a' } }, false],
  ['rejects an object with an empty object for a list', { ...sent, spec: { list: {} } }, false],
  ['rejects undefined', undefined, false],
  [
    'rejects an object with an object of the same members for a list',
    { ...sent, spec: { ...sent.spec, list: { 0: { x: 1 } } } },
    false,
  ],
])('isContained %s', (_, stored, expected) => {
  expect(isContained(sent, stored)).toBe(expected);
});
