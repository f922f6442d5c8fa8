import { describe, expect, it } from 'vitest';
import {
  digestOf,
  isNamedReference,
  isSameImage,
  readImageName,
  repositoryOf,
  withDigest,
  withTag,
} from './image-name.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('readImageName', () => {
  it.each([
    ['quay.io/a/b:1.0', ['quay.io', 'a/b', '1.0', undefined]],
    [`10.0.2.2:5000/os@${digest}`, ['10.0.2.2:5000', 'os', undefined, digest]],
    ['localhost/os:latest', ['localhost', 'os', 'latest', undefined]],
    ['[fd00::1]:5000/os', ['[fd00::1]:5000', 'os', undefined, undefined]],
    ['os', [undefined, 'os', undefined, undefined]],
    [`quay.io/a/b:1@${digest}`, ['quay.io', 'a/b', '1', digest]],
  ])('parses %s', (text, parts) => {
    const name = readImageName(text);
    expect([name?.host, name?.path, name?.tag, name?.digest]).toEqual(parts);
  });

  it.each(['', '-o', 'quay.io/A/b', 'quay.io/a b', 'quay.io/a:1\n', 'docker://quay.io/a', 'a/b:'])(
    'refuses %j',
    (text) => expect(readImageName(text)).toBeUndefined(),
  );
});

it.each([
  ['reg.example.com/o/x:latest', true],
  ['reg.example.com/O/x:latest', false],
  ['reg.example.com/o/x_:latest', false],
  ['docker.io/x:latest', false],
  ['docker.io/library/x:latest', true],
  [`reg.example.com/${'x'.repeat(256)}:latest`, false],
  ['[fd00::1]:5000/o/x:latest', false],
  [`reg.example.com/o/x@${digest}`, false],
])('isNamedReference decides whether the operator accepts %s', (text, isRead) => {
  expect(isNamedReference(text)).toBe(isRead);
});

describe('tag, digest and repository', () => {
  it('replaces the tag and keeps the port', () => {
    expect(withTag('r.example.com:5000/o/x:latest', 'v1')).toBe('r.example.com:5000/o/x:v1');
    expect(withDigest('r.example.com:5000/o/x:v1', digest)).toBe(
      `r.example.com:5000/o/x@${digest}`,
    );
  });

  it.each([
    [`r.example.com:5000/o/x@${digest}`, 'r.example.com:5000/o/x', digest],
    ['r.example.com:5000/o/x:1', 'r.example.com:5000/o/x', undefined],
  ])('splits %s into repository and digest', (image, repository, found) => {
    expect([repositoryOf(image), digestOf(image)]).toEqual([repository, found]);
  });
});

const other = `sha256:${'b'.repeat(64)}`;
it.each([
  ['quay.io/a/b:1', 'quay.io/a/b:1', true],
  ['quay.io/a/b', 'quay.io/a/b:latest', true],
  ['Quay.io/a/b:1', 'quay.io/a/b:1', true],
  ['quay.io/a/b:1', 'quay.io/a/b:2', false],
  ['quay.io/a/b:1', 'mirror.example/a/b:1', false],
  [`quay.io/a/b@${digest}`, `quay.io/a/b:1@${digest}`, true],
  [`quay.io/a/b@${digest}`, `mirror.example:5000/c@${digest}`, true],
  [`quay.io/a/b:1@${digest}`, `quay.io/a/b:1@${other}`, false],
  [`quay.io/a/b:1@${digest}`, 'quay.io/a/b:1', false],
  ['not an image', 'not an image', true],
  ['not an image', 'quay.io/a/b:1', false],
  ['', '', false],
])('isSameImage compares %s with %s: %s', (one, another, isSame) => {
  expect(isSameImage(one, another)).toBe(isSame);
  expect(isSameImage(another, one)).toBe(isSame);
});
