import { describe, expect, it } from 'vitest';
import { nameSuffix, optionalPathViolation, pathViolation, simplifyPath } from './place.ts';

describe('a path', () => {
  it.each([
    ['/', undefined],
    ['/a/b c/.d', undefined],
    ['', 'path-empty'],
    ['a', 'path-relative'],
    ['/a/', 'path-not-canonical'],
    ['//a', 'path-not-canonical'],
    ['/a/./b', 'path-not-canonical'],
    ['/..', 'path-not-canonical'],
  ])('%j breaks the rule %j', (path, rule) => {
    expect(pathViolation(path)).toBe(rule);
  });

  it('may be absent where it need not be there', () => {
    expect([optionalPathViolation(''), optionalPathViolation('a')]).toEqual([
      undefined,
      'path-relative',
    ]);
  });

  it.each([
    ['', '.'],
    ['./', '.'],
    ['a/..', '.'],
    ['a//b/../c/', 'a/c'],
    ['../../a', '../../a'],
    ['/../a', '/a'],
  ])('%j is simplified to %j', (path, simple) => {
    expect(simplifyPath(path)).toBe(simple);
  });

  it.each([
    ['a.service', '.service'],
    ['a.b.conf', '.conf'],
    ['a.b/c', ''],
    ['a', ''],
    ['a.', '.'],
  ])('%j ends in %j', (name, suffix) => {
    expect(nameSuffix(name)).toBe(suffix);
  });
});
