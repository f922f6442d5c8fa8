import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { controlPlaneType, bootstrapConfigType } from '../../src/capi/api.ts';
import { namespaceOf } from '../../src/capi/manager.ts';
import { diskHintKinds } from '../../src/settings/disk-hints.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { partAt } from '../../mocks/layering/objects.ts';

const objectsIn = (name: string): readonly object[] => {
  const path = resolve(import.meta.dirname, '../../deploy/capi', name);
  const documents = [parseAllDocuments(readFileSync(path, 'utf8'))].flat();
  return documents.map((document) => document.toJS() as object);
};
const listAt = (object: unknown, ...path: readonly string[]): readonly unknown[] =>
  (partAt(object, ...path) ?? []) as readonly unknown[];
const objects = objectsIn('samples/metal3.yaml');

const providers = ['bootstrap', 'control-plane'] as const;
const definitions = providers
  .flatMap((provider) => objectsIn(`${provider}-components.yaml`))
  .filter((one) => partAt(one, 'kind') === 'CustomResourceDefinition');
const definitionOf = (kind: string): object | undefined =>
  definitions.find((one) => partAt(one, 'spec', 'names', 'kind') === kind);
const schemaOf = (kind: string): object =>
  partAt(definitionOf(kind), 'spec', 'versions', '0', 'schema', 'openAPIV3Schema') as object;

it('the definitions have the same host fields in each kind', () => {
  const paths = {
    [controlPlaneType.kind]: ['spec', 'properties', 'configSpec'],
    [bootstrapConfigType.kind]: ['spec'],
    [`${bootstrapConfigType.kind}Template`]: [
      'spec',
      'properties',
      'template',
      'properties',
      'spec',
    ],
  };
  const [first, ...others] = Object.entries(paths).map(([kind, path]) => ({
    ...(partAt(schemaOf(kind), 'properties', ...path) as object),
    description: '',
  }));
  for (const other of others) expect(other).toEqual(first);
  const hints = partAt(first, 'properties', 'rootDeviceHints', 'properties');
  const patternOf = (hint: object): unknown =>
    'pattern' in hint ? String(hint.pattern) : undefined;
  const given = Object.entries(hints as Readonly<Record<string, { readonly pattern?: string }>>);
  expect(given.map(([name, { pattern }]) => [name, pattern && `/${pattern}/`])).toEqual(
    Object.entries(diskHintKinds).map(([name, hint]) => [name, patternOf(hint)]),
  );
});

/**
 * A schema that rejects unknown fields, like the API server with strict validation.
 */
function strict(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(strict);
  const inner = Object.entries(schema).map(([key, value]) => [key, strict(value)] as const);
  const isClosed =
    partAt(schema, 'type') === 'object' && typeof partAt(schema, 'properties') === 'object';
  return { ...(isClosed ? { additionalProperties: false } : {}), ...Object.fromEntries(inner) };
}

/** Fields that every Kubernetes object has. */
const common = ['apiVersion', 'kind', 'metadata'].map((name) => [name, {}] as const);

it.each(['OpenShiftControlPlane', 'OpenShiftBootstrapConfigTemplate'])(
  'the sample has a valid %s',
  (kind) => {
    const crd = definitionOf(kind);
    const schema = schemaOf(kind);
    const properties = {
      ...Object.fromEntries(common),
      ...(partAt(schema, 'properties') as object),
    };
    const ajv = new Ajv({ strict: false, validateFormats: false });
    const validate = ajv.compile(strict({ ...schema, properties }) as object);
    const group = String(partAt(crd, 'spec', 'group'));
    const version = String(partAt(crd, 'spec', 'versions', '0', 'name'));
    const found = objects.find((one) => partAt(one, 'kind') === kind);
    expect(partAt(found, 'apiVersion')).toBe(`${group}/${version}`);
    validate(found);
    expect(validate.errors ?? []).toEqual([]);
    // An unknown field is rejected.
    validate({ ...found, spec: { ...(partAt(found, 'spec') as object), unknown: 1 } });
    expect(validate.errors).toMatchObject([{ keyword: 'additionalProperties' }]);
  },
);

describe.each(['bootstrap', 'control-plane'] as const)(
  'the components of the provider %s',
  (provider) => {
    const installed = objectsIn(`${provider}-components.yaml`);
    const ofKind = (kind: string) => installed.filter((one) => partAt(one, 'kind') === kind);

    it('are in the namespace that the manager expects', () => {
      const named = installed.filter((one) => partAt(one, 'metadata', 'namespace') !== undefined);
      const places = named.map((one) => partAt(one, 'metadata', 'namespace'));
      expect(new Set(places)).toEqual(new Set([namespaceOf(provider)]));
      expect(ofKind('Namespace')).toMatchObject([{ metadata: { name: namespaceOf(provider) } }]);
    });

    it('start the manager with known flags and declare the ports that it listens on', () => {
      const pod = partAt(ofKind('Deployment')[0], 'spec', 'template', 'spec');
      const [container] = listAt(pod, 'containers');
      const [program, command, ...words] = listAt(container, 'args').map(String);
      const manager = bootwright().all.find((one) => one.name() === command);
      expect([program, manager?.parent?.name()]).toEqual(['capi', 'capi']);
      const known = manager?.options.map(({ long }) => long) ?? [];
      expect(known).toEqual(expect.arrayContaining(words.map((word) => word.split('=', 1)[0])));
      expect(words).toContain(`--controllers=${provider}`);
      const listening = words.flatMap((word) => /=:(\d+)$/.exec(word)?.[1] ?? []);
      const ports = listAt(container, 'ports').map((port) => String(partAt(port, 'containerPort')));
      expect(ports.toSorted()).toEqual(listening.toSorted());
    });
  },
);
