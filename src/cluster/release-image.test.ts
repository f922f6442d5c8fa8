import { describe, expect, it } from 'vitest';
import { releaseImageIn } from './release-image.ts';

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
