import { expect, it } from 'vitest';
import { selectorText } from './selector.ts';

it.each([
  ['undefined', undefined, undefined],
  ['an empty selector', {}, ''],
  ['matchLabels', { matchLabels: { a: '', b: 'c' } }, 'a=,b=c'],
  [
    'matchExpressions',
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
])('formats a label selector as a query parameter: %s', (_, selector, text) => {
  expect(selectorText(selector)).toBe(text);
});
