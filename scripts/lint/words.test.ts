import { describe, expect, it } from 'vitest';
import { findingsInSource, findingsInText } from './words.ts';

const searched = { literals: true, comments: false };
const words = (code: string, texts = searched): readonly string[] =>
  findingsInSource('a.ts', code, texts).map(({ line, word }) => `${line}: ${word}`);

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
    ['// anew', undefined],
  ])('%j: %s', (code, found) => {
    expect(words(code)).toEqual(found === undefined ? [] : [found]);
  });

  it('names a word once, and reads comments when asked to', () => {
    expect(words('bell(bell);\n// made anew', { ...searched, comments: true })).toEqual([
      '1: bell',
      '2: anew',
    ]);
  });
});

describe('findingsInText', () => {
  it('says what to write instead', () => {
    expect(findingsInText('what it stands for\nMend the file')).toEqual([
      { line: 2, word: 'mend', write: 'fix', text: 'Mend the file' },
    ]);
  });
});
