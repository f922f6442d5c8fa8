import { expect, it } from 'vitest';
import { selectorText } from './selector.ts';

it.each<[string, unknown, string | undefined]>([
  ['none', undefined, undefined],
  ['an empty one', {}, ''],
  ['labels', { matchLabels: { a: '', b: 'c' } }, 'a=,b=c'],
  [
    'rules',
    {
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['x', 'y'] },
        { key: 'b', operator: 'NotIn', values: ['z'] },
        { key: 'c', operator: 'Exists' },
        { key: 'd', operator: 'DoesNotExist' },
      ],
    },
    'a in (x,y),b notin (z),c,!d',
  ],
])('a label selector in the words of a request: %s', (_, selector, text) => {
  expect(selectorText(selector)).toBe(text);
});
