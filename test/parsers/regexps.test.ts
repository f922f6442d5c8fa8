import { describe, expect, it } from 'vitest';
import { growthOf } from './backtracking.ts';
import { findingsIn } from './regexps.ts';

describe('growthOf', () => {
  it.each([
    // Patterns that the product had.
    [/^https?:\/\/[^/?#]*%(?![0-9a-f]{2})[^/?#]*@/i, 'quadratic'],
    [/\s*[\r\n]+\s*/g, 'quadratic'],
    [/\s*[\p{Cc}\u2028\u2029]+\s*/gu, 'quadratic'],
    [/=[^;]*%(?![0-9a-fA-F]{2})/u, 'quadratic'],
    [/^[^.]+\.[^.]+\.svc:[0-9]+\/[^/]+\/[^/]+:[^/]+$/u, 'quadratic'],
    [/machine-config-server.*\.log$/, 'quadratic'],
    [/^\s*\[registries\./m, 'quadratic'],
    // What is known to be slow.
    [/(a+)+$/, 'exponential'],
    [/^(a|a)*$/, 'exponential'],
    [/^(a*)*$/, 'exponential'],
    [/^(\w+\s?)*$/, 'exponential'],
    [/^(?:a?b?)*c/, 'exponential'],
    [/\s+$/, 'quadratic'],
    [/a+b/, 'quadratic'],
    [/^a*[ab]*c/, 'quadratic'],
    [/^(?:x|a{1,3})*a*b/, 'exponential'],
    [/(?=a+b)c/, 'quadratic'],
    // What is not.
    [/^a+b/, 'linear'],
    [/a+b/y, 'linear'],
    [/\s+/g, 'linear'],
    [/(?<!\d)\d+$/, 'linear'],
    [/(?<=x)a+b/, 'linear'],
    [/[?#].*$/s, 'linear'],
    [/error: (.*)$/m, 'linear'],
    [/^ +(at .*)$/m, 'linear'],
    [/a{0,20}b/, 'linear'],
    [/"(?:[^"\\]|\\.)*"/y, 'linear'],
    [/^(?:[a-z]+\.)*[a-z]+$/, 'linear'],
    [/^(['"])x\1$/, 'linear'],
  ] as const)('%s is %s', ({ source, flags }, growth) => {
    expect(growthOf(source, flags)).toBe(growth);
  });

  it('refuses a pattern that it cannot read', () => {
    expect(() => growthOf('a+)', '')).toThrow(RangeError);
  });
});

describe('findingsIn', () => {
  const lines = (source: string): readonly string[] =>
    findingsIn('a.ts', source).map(({ line, growth }) => `${line}: ${growth}`);

  it('finds literals, and patterns that are made of texts of the file', () => {
    const slow = [
      "const PART = '[a-z]';",
      'const good = /a+/;',
      "const bad = text.replace(/a+b/g, '');",
      'const made = new RegExp(`X${PART}*y${other}`);',
      'const raw = new RegExp(String.raw`${PART}+\\s`);',
    ].join('\n');
    expect(lines(slow)).toEqual(['3: quadratic', '5: quadratic']);
  });

  it('takes a reason, and none where it is not needed', () => {
    expect(lines('// linear: a word has ten letters\nconst bad = /a+b/;')).toEqual([]);
    expect(lines('const bad = /a+b/; // linear: so short')).toEqual([]);
    expect(lines('// linear: it is\nconst good = /^a+b/;')).toEqual([
      '2: linear, and need not be excused',
    ]);
  });
});
