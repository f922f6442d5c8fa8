import { describe, expect, it } from 'vitest';
import { linesOf } from './transport.ts';

async function* chunks(...texts: string[]): AsyncGenerator<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

describe('the lines of a watch', () => {
  it.each([
    ['one in one chunk', ['{"a":1}\n'], ['{"a":1}']],
    ['one in three chunks', ['{"a', '":1', '}\n'], ['{"a":1}']],
    ['several in one chunk', ['1\n2\n3\n'], ['1', '2', '3']],
    ['the last without its end', ['1\n2'], ['1', '2']],
    ['none', [], []],
  ])('come whole: %s', async (_, texts, wanted) => {
    const lines: string[] = [];
    for await (const line of linesOf(chunks(...texts))) lines.push(line);
    expect(lines).toEqual(wanted);
  });
});
