import { expect, it } from 'vitest';
import { isPullSpec, isPushSpec } from './schema.ts';

const digest = `sha256:${'a'.repeat(64)}`;

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
])('accepts %s as push spec: %j, as pull spec: %j', (repository, push, pull) => {
  expect(isPushSpec(`${repository}:latest`)).toBe(push);
  expect(isPullSpec(`${repository}@${digest}`)).toBe(pull);
});

it.each(['reg.example.com/o/x', `reg.example.com/o/x:tag@${digest}`, ''])(
  'rejects %j as push spec',
  (text) => expect(isPushSpec(text)).toBe(false),
);
