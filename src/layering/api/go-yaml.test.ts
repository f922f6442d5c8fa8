import { describe, expect, it } from 'vitest';
import { goYaml } from './go-yaml.ts';

const long = `RUN ${'word '.repeat(20)}end`;

// Output of gopkg.in/yaml.v2 2.4.0; the suite `oracle` compares with the library itself.
describe('goYaml', () => {
  it.each([
    ['plain text', 'a b', 'k: a b\n'],
    ['an empty string', '', 'k: ""\n'],
    ['a word that YAML 1.1 reads as true', 'on', 'k: "on"\n'],
    ['a number', '0x1F', 'k: "0x1F"\n'],
    ['a number with an underscore between digits', '.0_0', 'k: ".0_0"\n'],
    ['a string like a number with a trailing underscore', '.0_', 'k: .0_\n'],
    ['a date', '2001-01-01', 'k: "2001-01-01"\n'],
    ['an invalid date', '2001-02-29', 'k: 2001-02-29\n'],
    ['an indicator', '# a', "k: '# a'\n"],
    ['several lines', 'a\nb\n', 'k: |\n  a\n  b\n'],
    ['lines without a final newline', 'a\nb', 'k: |-\n  a\n  b\n'],
    ['lines with trailing empty lines', 'a\n\n', 'k: |+\n  a\n\n'],
    ['a leading blank', ' a\n', 'k: |2\n   a\n'],
    ['a tab', 'a\n\tb', 'k: "a\\n\\tb"\n'],
    ['a blank before a line break', 'a \nb', 'k: "a \\nb"\n'],
    ['a character outside the basic plane', '\u{1f600}', 'k: "\\U0001F600"\n'],
    ['a byte order mark, after which all is escaped', '\ufeffab', 'k: "\\uFEFF\\x61\\x62"\n'],
    ['a long line', long, `k: ${long.slice(0, 78)}\n  ${long.slice(79)}\n`],
  ])('writes %s', (_, value, expected) => {
    expect(goYaml({ k: value })).toBe(expected);
  });

  it('indents lists like their key and omits undefined members', () => {
    expect(goYaml({ b: [{ y: '1', x: 'a\nb\n' }, {}], a: null, c: [], d: undefined })).toBe(
      'a: null\nb:\n- x: |\n    a\n    b\n  y: "1"\n- {}\nc: []\n',
    );
  });

  it.each([
    ['a\u0085b', 'k: a b\n'],
    ['a \u0085 \u0085 b', 'k: |-\n  a\n  b\n'],
    ['\ud800', 'k: \ufffd\n'],
  ])('writes %j as Go reads it back from JSON', (text, expected) => {
    expect(goYaml({ k: text })).toBe(expected);
  });

  it.each(['\u007f', '\u0080', '\ufffe', 'a\u0085--- b'])('refuses %j', (text) => {
    expect(() => goYaml({ k: text })).toThrow(
      /is one that the Machine Config Operator cannot hash/,
    );
  });
});
