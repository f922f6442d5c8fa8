import { describe, expect, it } from 'vitest';
import { lineSplitter, outputRing } from './spawn.ts';

const split = (...chunks: readonly string[]): readonly string[] => {
  const lines: string[] = [];
  const splitter = lineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
};

describe('lineSplitter', () => {
  it.each([
    ['lines that end with line feeds', ['a\nb\n'], ['a', 'b']],
    ['lines that end with carriage returns', ['> 1%   \r> 2%   \r\n'], ['> 1%   ', '> 2%   ']],
    ['lines in arbitrary chunks', ['a', 'b\r', '\nc', 'd'], ['ab', 'cd']],
    ['blank lines', ['\n\r\n  \na'], ['a']],
    ['an empty stream', [''], []],
  ])('splits %s', (_, chunks, lines) => {
    expect(split(...chunks)).toEqual(lines);
  });

  it('keeps only the end of a line without a line break', () => {
    const [line] = split('x'.repeat(100_000), 'y');
    expect(line?.length).toBeLessThan(70_000);
    expect(line?.at(-1)).toBe('y');
  });
});

it.each([
  ['everything that fits', ['ab', 'cd'], 'abcd'],
  [
    'the last lines of output that does not fit',
    ['first line\n', 'second\n', 'third\n'],
    'third\n',
  ],
  ['the last lines of long output', ['x\n'.repeat(1000), 'the end'], 'x\nthe end'],
])('outputRing keeps %s', (_, chunks, kept) => {
  const tail = outputRing(10);
  for (const chunk of chunks) tail.push(chunk);
  expect(tail.text()).toBe(kept);
});
