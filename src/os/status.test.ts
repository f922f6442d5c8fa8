import { expect, it } from 'vitest';
import { readOrigin, referenceIn, renderOrigin } from './status.ts';
import { imageOf, originFile } from '../../test/support/os-samples.ts';

it.each([
  ['ostree-unverified-registry:q.io:5000/a:1', 'q.io:5000/a:1', 'none'],
  ['ostree-unverified-image:docker://q.io/a:1', 'q.io/a:1', 'none'],
  ['ostree-unverified-image:registry:q.io/a:1', 'q.io/a:1', 'none'],
  ['ostree-unverified-image:oci:/var/a', 'oci:/var/a', 'none'],
  ['ostree-image-signed:docker://q.io/a:1', 'q.io/a:1', 'policy'],
  ['ostree-image-signed:registry:q.io/a:1', 'q.io/a:1', 'policy'],
  ['ostree-remote-registry:fedora:q.io/a:1', 'q.io/a:1', 'remote'],
  ['ostree-remote-image:fedora:docker://q.io/a:1', 'q.io/a:1', 'remote'],
  ['something:else', 'something:else', 'none'],
])('readOrigin reads %s', (reference, spec, verification) => {
  expect(readOrigin(reference)).toEqual({ spec, verification });
});

it.each(['none', 'policy'] as const)(
  'renderOrigin writes an origin that is read back as %s',
  (verification) => {
    expect(readOrigin(renderOrigin('q.io/a:1', verification))).toEqual({
      spec: 'q.io/a:1',
      verification,
    });
  },
);

it('referenceIn finds the image reference in an origin file, and none for a commit', () => {
  expect(referenceIn(originFile('1'))).toBe(`ostree-unverified-registry:${imageOf('1')}`);
  expect(referenceIn('[origin]\nrefspec=fedora:x\n')).toBeUndefined();
});
