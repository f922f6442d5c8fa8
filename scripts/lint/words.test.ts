import { describe, expect, it } from 'vitest';
import { findingsInSource, findingsInText } from './words.ts';

const words = (code: string): readonly string[] =>
  findingsInSource('a.ts', code, true).map(({ line, word }) => `${line}: ${word}`);

describe('findingsInSource', () => {
  it.each([
    ['const bellUntil = 1;', '1: bell'],
    ['const label = 1;', undefined],
    ['const stringify = String(1);', undefined],
    ['x.leaveHost();', '1: leave host'],
    ['type Look = 1;', '1: Look'],
    ['const lookup = 1;', undefined],
    ['const toString = 1;', undefined],
    ["\nconst a = 'read it anew';", '2: anew'],
    ['\nconst a = `\nread it anew ${b}`;', '3: anew'],
    ["const a = 'anew';", undefined],
    ['\n// read it anew', '2: anew'],
    ['\n/**\n * Read it anew.\n */', '3: anew'],
    ['// as soon as it is known', undefined],
  ])('%j: %s', (code, found) => {
    expect(words(code)).toEqual(found === undefined ? [] : [found]);
  });

  it('reports a word once per line, and literals only on request', () => {
    expect(words('bell(bell);')).toEqual(['1: bell']);
    expect(findingsInSource('a.test.ts', "\nconst a = 'read it anew';", false)).toEqual([]);
  });
});

describe('findingsInText', () => {
  it('returns the replacement', () => {
    expect(findingsInText('what it stands for\nMend the file')).toEqual([
      { line: 2, word: 'mend', write: 'fix', text: 'Mend the file' },
    ]);
  });
});
