import { describe, expect, it } from 'vitest';
import { isNamedReference, isPullSpec, isPushSpec, withDigest, withTag } from './pull-spec.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('the grammars of images', () => {
  it.each([
    ['192.168.1.10:5000/ocl/master', true, true],
    ['localhost:5000/ocl/master', false, false],
    ['bootstrap:5000/ocl/master', false, false],
    ['[fd00::1]:5000/ocl/master', false, false],
    ['api-int.c.example.com:22625/ocl/master', true, true],
    ['reg.example.com/a/b/c/master', true, false],
    ['reg.example.com/a.b/master', false, false],
    ['image-registry.openshift-image-registry.svc:5000/ns/name', true, true],
    ['reg.example.com/master', true, true],
  ])('takes %s to push %j and to pull %j', (repository, push, pull) => {
    expect(isPushSpec(`${repository}:latest`)).toBe(push);
    expect(isPullSpec(`${repository}@${digest}`)).toBe(pull);
  });

  it.each(['reg.example.com/o/x', `reg.example.com/o/x:tag@${digest}`, ''])(
    'does not take %j to push',
    (text) => expect(isPushSpec(text)).toBe(false),
  );

  it.each([
    ['reg.example.com/o/x:latest', true],
    ['reg.example.com/O/x:latest', false],
    ['reg.example.com/o/x_:latest', false],
    ['docker.io/x:latest', false],
    ['docker.io/library/x:latest', true],
    [`reg.example.com/${'x'.repeat(256)}:latest`, false],
  ])('knows whether the operator can read %s', (text, isRead) => {
    expect(isNamedReference(text)).toBe(isRead);
  });

  it('replaces a tag, and keeps the port', () => {
    expect(withTag('r.example.com:5000/o/x:latest', 'v1')).toBe('r.example.com:5000/o/x:v1');
    expect(withDigest('r.example.com:5000/o/x:v1', digest)).toBe(
      `r.example.com:5000/o/x@${digest}`,
    );
  });
});
