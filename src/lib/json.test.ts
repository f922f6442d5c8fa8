import { afterEach, describe, expect, it, vi } from 'vitest';
import { isContained, jsonIn } from './json.ts';

afterEach(() => vi.restoreAllMocks());

it('parses no long text that is nested too deeply: 20 MB took 1.5 GB', () => {
  const parse = vi.spyOn(JSON, 'parse');
  const deep = '['.repeat(2 ** 20 + 1);
  for (const text of [deep, `${deep}${']'.repeat(2 ** 20)}`, `{"a":${deep}`])
    expect(jsonIn(text)).toBeUndefined();
  expect(parse).not.toHaveBeenCalled();
});

it('parses a long text that is wide', () => {
  const wide = `{"a":[${'[],{"":"["},'.repeat(2 ** 17)}0]}`;
  expect(jsonIn(wide)).toMatchObject({ a: { length: 2 ** 18 + 1 } });
});

describe('a stored object holds what was sent', () => {
  const sent = { metadata: { name: 'a' }, spec: { list: [{ x: 1 }], empty: '', none: null } };
  it.each<[string, unknown, boolean]>([
    ['when it is equal', sent, true],
    [
      'when the server added to it',
      {
        metadata: { name: 'a', uid: 'u' },
        spec: { list: [{ x: 1, y: 2 }] },
        status: {},
      },
      true,
    ],
    ['unless a value differs', { ...sent, spec: { ...sent.spec, list: [{ x: 2 }] } }, false],
    ['unless a list is longer', { ...sent, spec: { list: [{ x: 1 }, {}] } }, false],
    ['unless a member is missing', { metadata: { name: 'a' } }, false],
    ['unless a list became something else', { ...sent, spec: { list: {} } }, false],
    ['unless there is nothing', undefined, false],
    [
      'unless a list became an object of its members',
      { ...sent, spec: { ...sent.spec, list: { 0: { x: 1 } } } },
      false,
    ],
  ])('%s', (_, stored, expected) => {
    expect(isContained(sent, stored)).toBe(expected);
  });
});
