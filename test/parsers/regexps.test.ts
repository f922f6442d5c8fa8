import { describe, expect, it } from 'vitest';
import { findingsIn } from './regexps.ts';

describe('findingsIn', () => {
  const lines = (source: string): readonly string[] =>
    findingsIn('a.ts', source).map(({ line, growth }) => `${line}: ${growth}`);

  it('finds literals, and patterns from constants of the file', () => {
    const slow = [
      "const PART = '[a-z]';",
      'const good = /a+/;',
      "const bad = text.replace(/a+b/g, '');",
      'const made = new RegExp(`X${PART}*y${other}`);',
      'const raw = new RegExp(String.raw`${PART}+\\s`);',
    ].join('\n');
    expect(lines(slow)).toEqual(['3: superlinear', '5: superlinear']);
  });

  it('accepts a reason, and reports a needless one', () => {
    expect(lines('// linear: a word has ten letters\nconst bad = /a+b/;')).toEqual([]);
    expect(lines('const bad = /a+b/; // linear: so short')).toEqual([]);
    expect(lines('// linear: it is\nconst good = /^a+b/;')).toEqual([
      '2: linear, and need not be excused',
    ]);
  });
});
