import { describe, expect, it } from 'vitest';
import {
  digestOf,
  isNamedReference,
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
  ])('reads %s', (text, parts) => {
    const name = readImageName(text);
    expect([name?.host, name?.path, name?.tag, name?.digest]).toEqual(parts);
  });

  it.each(['', '-o', 'quay.io/A/b', 'quay.io/a b', 'quay.io/a:1\n', 'docker://quay.io/a', 'a/b:'])(
    'refuses %j',
    (text) => expect(readImageName(text)).toBeUndefined(),
  );
});

describe('isNamedReference', () => {
  it.each([
    ['reg.example.com/o/x:latest', true],
    ['reg.example.com/O/x:latest', false],
    ['reg.example.com/o/x_:latest', false],
    ['docker.io/x:latest', false],
    ['docker.io/library/x:latest', true],
    [`reg.example.com/${'x'.repeat(256)}:latest`, false],
    ['[fd00::1]:5000/o/x:latest', false],
    [`reg.example.com/o/x@${digest}`, false],
  ])('knows whether the operator can read %s', (text, isRead) => {
    expect(isNamedReference(text)).toBe(isRead);
  });
});

describe('the parts of a name', () => {
  it('replaces a tag, and keeps the port', () => {
    expect(withTag('r.example.com:5000/o/x:latest', 'v1')).toBe('r.example.com:5000/o/x:v1');
    expect(withDigest('r.example.com:5000/o/x:v1', digest)).toBe(
      `r.example.com:5000/o/x@${digest}`,
    );
  });

  it.each([
    [`r.example.com:5000/o/x@${digest}`, 'r.example.com:5000/o/x', digest],
    ['r.example.com:5000/o/x:1', 'r.example.com:5000/o/x', undefined],
  ])('takes %s apart', (image, repository, found) => {
    expect([repositoryOf(image), digestOf(image)]).toEqual([repository, found]);
  });
});
