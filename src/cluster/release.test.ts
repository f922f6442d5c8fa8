import { describe, expect, it } from 'vitest';
import { isAtLeast, releaseImageIn, releaseVersion } from './release.ts';

it.each([
  ['4.15.0', [4, 15, 0]],
  ['4.15', [4, 15, 0]],
  ['4.14.0-rc0', [4, 14, 0]],
  ['4.15-pre-release', [4, 15, 0]],
  ['4.16.3+build', [4, 16, 3]],
  ['v4.16.3', [4, 16, 3]],
  ['4', undefined],
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

describe('releaseImageIn', () => {
  it.each([
    [
      'if ! RELEASE_IMAGE_DIGEST=$( podman inspect quay.io/r/release@sha256:1 --format json ) ; then\n\tRELEASE_IMAGE_DIGEST="quay.io/r/release@sha256:1"\nfi\n\timage_for() {\n podman run "${RELEASE_IMAGE_DIGEST}" image "${1}"\n}\n',
      'quay.io/r/release@sha256:1',
    ],
    ['RELEASE_IMAGE_DIGEST="${OTHER}"', undefined],
    ['', undefined],
  ])('reads the release image from the script of the installer: %j', (script, image) => {
    expect(releaseImageIn(script)).toBe(image);
  });
});
