import { describe, expect, it } from 'vitest';
import { lineSplitter, outputRing } from './spawn.ts';

const split = (...chunks: readonly string[]): readonly string[] => {
  const lines: string[] = [];
  const splitter = lineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
};

describe('lines of a stream', () => {
  it.each([
    ['ended by line feeds', ['a\nb\n'], ['a', 'b']],
    ['ended by carriage returns', ['> 1%   \r> 2%   \r\n'], ['> 1%   ', '> 2%   ']],
    ['cut anywhere', ['a', 'b\r', '\nc', 'd'], ['ab', 'cd']],
    ['without content', ['\n\r\n  \na'], ['a']],
    ['none', [''], []],
  ])('%s', (_, chunks, lines) => {
    expect(split(...chunks)).toEqual(lines);
  });

  it('keeps only the end of a line that has none', () => {
    const [line] = split('x'.repeat(100_000), 'y');
    expect(line?.length).toBeLessThan(70_000);
    expect(line?.at(-1)).toBe('y');
  });
});

it.each([
  ['all that fits', ['ab', 'cd'], 'abcd'],
  ['the last lines of what does not', ['first line\n', 'second\n', 'third\n'], 'third\n'],
  ['the last lines of much', ['x\n'.repeat(1000), 'the end'], 'x\nthe end'],
])('keeps %s', (_, chunks, kept) => {
  const tail = outputRing(10);
  for (const chunk of chunks) tail.push(chunk);
  expect(tail.text()).toBe(kept);
});
