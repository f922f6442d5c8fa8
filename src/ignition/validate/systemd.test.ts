import { describe, expect, it } from 'vitest';
import { unitSections } from './systemd.ts';

const line = (bytes: number): string => `b=${'x'.repeat(bytes - 2)}`;

describe('a unit', () => {
  it.each<[string, string, string[]]>([
    ['nothing', '', []],
    ['text outside of any section', 'a=b\nc', []],
    ['an empty section', '[Install]\n', []],
    ['two sections', '[Unit]\na=b\n[Install]\nc=\n', ['Unit', 'Install']],
    ['comments', '# a\n[Unit]\n; b\na=b\n', ['Unit']],
    ['a comment that goes on', '[Unit]\n# a \\\n[Service]\nb=c\n', ['Unit']],
    ['a value that goes on', '[Unit]\na=b\\\n[Service]\nc=d\n', ['Unit']],
    ['an option without a name', '[Unit]\n=b', ['Unit']],
    ['a section name over two lines', '[Un\nit]\na=b', ['Un\nit']],
    ['carriage returns', '[Unit]\r\na=b\r\n', ['Unit']],
    ['a line of 2047 bytes', `[Unit]\n${line(2047)}\n`, ['Unit']],
    [
      'a long line in the last bytes of the window',
      `[Unit]\n${`a=${'x'.repeat(1000)}\n`.repeat(4)}${line(3000)}`,
      ['Unit'],
    ],
  ])('with %s is taken', (_, text, sections) => {
    expect([...(unitSections(text) ?? ['refused'])]).toEqual(sections);
  });

  it.each([
    ['an open section name', '[Unit'],
    ['text after a section name', '[Unit] a\n'],
    ['an option without a value', '[Unit]\na\nb=c\n'],
    ['an option at the end without a value', '[Unit]\na'],
    ['a long line', `[Unit]\n${line(2100)}\n`],
    ['a long comment', `#${'x'.repeat(2100)}\n`],
  ])('with %s is refused', (_, text) => {
    expect(unitSections(text)).toBeUndefined();
  });
});
