import { expect, it } from 'vitest';
import { sum } from '../../test/support/os-samples.ts';
import { parseImageName } from './registry-image.ts';

const digest = `sha256:${sum('a')}`;

it.each([
  ['quay.io/a/b:1.0', 'quay.io/a/b', undefined],
  [`10.0.2.2:5000/os@${digest}`, '10.0.2.2:5000/os', digest],
  ['localhost/os:latest', 'localhost/os', undefined],
  ['localhost:5000/a/b/c_d__e-f:1', 'localhost:5000/a/b/c_d__e-f', undefined],
  ['[fd00::1]:5000/os:1', '[fd00::1]:5000/os', undefined],
])('reads %s', (text, repository, known) => {
  const name = parseImageName(text);
  expect([name.text, name.repository, name.digest]).toEqual([text, repository, known]);
});

it.each([
  '',
  '-o',
  '--help',
  'os:1',
  'library/os:1',
  'quay.io/a/b',
  `quay.io/a/b:1@${digest}`,
  'quay.io/a/b@sha256:abc',
  'quay.io/A/b:1',
  'quay.io/a b:1',
  'quay.io/a:1\n',
  'docker://quay.io/a/b:1',
  'ostree-unverified-registry:quay.io/a/b:1',
])('refuses %j', (text) => {
  expect(() => parseImageName(text)).toThrow(
    expect.objectContaining({ code: 'os.bad-image-name', kind: 'input' }),
  );
});
