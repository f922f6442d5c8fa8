import { afterEach, expect, it, vi } from 'vitest';
import { jsonIn } from './json.ts';

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
