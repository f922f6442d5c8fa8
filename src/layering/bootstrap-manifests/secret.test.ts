import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { readSecretManifest } from './secret.ts';

const head = (name: string, namespace = 'openshift-machine-config-operator'): string =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\n`;
const encoded = Buffer.from('{"auths":{}}').toString('base64');

describe('readSecretManifest', () => {
  const text = [
    `${head('elsewhere', 'default')}data: {}\n`,
    `${head('push')}type: kubernetes.io/dockerconfigjson\ndata:\n  .dockerconfigjson: ${encoded}\n`,
    `${head('plain')}data:\n  a: ${encoded}\nstringData:\n  a: b\n`,
    'kind: Other\nmetadata:\n  name: other\n',
  ].join('---\n');

  it.each([
    ['push', 'kubernetes.io/dockerconfigjson', { '.dockerconfigjson': '{"auths":{}}' }],
    ['plain', 'Opaque', { a: 'b' }],
  ])('reads %s', (name, type, data) => {
    expect(readSecretManifest({ path: 'f', text }, name)).toEqual({ name, type, data });
  });

  it.each(['elsewhere', 'other', 'none'])('finds no Secret of the operator called %s', (name) => {
    expect(readSecretManifest({ path: 'f', text }, name)).toBeUndefined();
  });
});
