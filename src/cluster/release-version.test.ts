import { expect, it } from 'vitest';
import { isAtLeast, releaseVersion } from './release-version.ts';

it.each([
  ['4.15.0', [4, 15, 0]],
  ['4.15', [4, 15, 0]],
  ['4.14.0-rc0', [4, 14, 0]],
  ['4.15-pre-release', [4, 15, 0]],
  ['4.16.0-0.nightly-2024-01-01', [4, 16, 0]],
  ['4.16.3+build', [4, 16, 3]],
  ['v4.16.3', [4, 16, 3]],
  ['4', undefined],
  ['', undefined],
  ['latest', undefined],
  ['4.x.1', undefined],
  ['4.15x', undefined],
])('reads the release version %j', (text, version) => {
  expect(releaseVersion(text)).toEqual(version);
});

it.each([
  [[4, 15, 0], [4, 15, 0], true],
  [[4, 9, 9], [4, 15, 0], false],
  [[5, 0, 0], [4, 15, 3], true],
  [[4, 15, 2], [4, 15, 3], false],
  [[4, 16, 0], [4, 15, 3], true],
] as const)('isAtLeast for %j and %j: %s', (version, least, expected) => {
  expect(isAtLeast(version, least)).toBe(expected);
});
