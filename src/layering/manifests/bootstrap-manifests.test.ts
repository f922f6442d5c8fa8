import { Buffer } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { documentsOf, registrySecretOf, withoutDocuments } from './bootstrap-manifests.ts';

const secret = 'kind: Secret # kept\nmetadata:\n  name: one\n';
const text = `# first\n${secret}---\nkind: Other\n--- # third\nkind: Secret\nmetadata: {name: two}\n`;
const kindsOf = (of: string): readonly unknown[] =>
  documentsOf({ path: 'f', text: of }).map(({ object }) => object.value['kind']);

describe('documentsOf', () => {
  it('places members by their line in the file', () => {
    const documents = documentsOf({ path: 'f', text });
    expect(documents.map(({ object }) => object.place(['kind']))).toEqual(['f:2', 'f:6', 'f:8']);
  });

  it.each([
    ['an empty file', '', []],
    ['empty documents', '---\n---\n# no\n---\nkind: A\n...\n', ['A']],
    ['an object on the line of the separator', '--- {kind: A}\n---\nkind: B', ['A', 'B']],
    ['JSON', '{"kind":"A"}', ['A']],
    ['a block that contains the separator', 'kind: A\ntext: |\n  ---\n  more\n', ['A']],
  ])('reads %s', (...[, of, kinds]) => {
    expect(kindsOf(of)).toEqual(kinds);
  });
});

describe('withoutDocuments', () => {
  const without = (kind: string, of = text): string =>
    withoutDocuments({ path: 'f', text: of }, ({ value }) => value['kind'] === kind);

  it('keeps the other documents unchanged', () => {
    expect(without('Other')).toBe(
      `# first\n${secret}--- # third\nkind: Secret\nmetadata: {name: two}\n`,
    );
    expect(without('Secret')).toBe('kind: Other\n');
  });

  it('returns an empty text when no document is left', () => {
    expect(without('A', 'kind: A\n---\nkind: A\n')).toBe('');
  });
});

const head = (name: string, namespace = 'openshift-machine-config-operator'): string =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\n`;
const encoded = Buffer.from('{"auths":{}}').toString('base64');

const secretNamed = (text: string, name: string) =>
  documentsOf({ path: 'f', text })
    .map(({ object }) => registrySecretOf(object.value))
    .find((secret) => secret?.name === name);

describe('registrySecretOf', () => {
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
    expect(secretNamed(text, name)).toEqual({ name, type, data });
  });

  it.each(['elsewhere', 'other', 'none'])('finds no Secret %s of the operator', (name) => {
    expect(secretNamed(text, name)).toBeUndefined();
  });
});
