import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { bootstrapCrds, controlPlaneCrd } from '../../src/capi/components.ts';
import { partAt } from '../../mocks/layering/objects.ts';

const sample = resolve(import.meta.dirname, '../../deploy/capi/samples/metal3.yaml');
const objects = [parseAllDocuments(readFileSync(sample, 'utf8'))]
  .flat()
  .map((document) => document.toJS() as object);

/** A schema that takes no field which it does not name, as the API server with strict validation. */
function strict(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(strict);
  const inner = Object.entries(schema).map(([key, value]) => [key, strict(value)] as const);
  const isClosed =
    partAt(schema, 'type') === 'object' && typeof partAt(schema, 'properties') === 'object';
  return { ...(isClosed ? { additionalProperties: false } : {}), ...Object.fromEntries(inner) };
}

/** Fields that each object of Kubernetes has. */
const common = ['apiVersion', 'kind', 'metadata'].map((name) => [name, {}] as const);

it.each(['OpenShiftControlPlane', 'OpenShiftBootstrapConfigTemplate'])(
  'the sample has an %s as its definition wants it',
  (kind) => {
    const crd = [controlPlaneCrd, ...bootstrapCrds].find(
      (one) => partAt(one, 'spec', 'names', 'kind') === kind,
    );
    const schema = partAt(crd, 'spec', 'versions', '0', 'schema', 'openAPIV3Schema') as object;
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
    // A field that the definition does not know is not taken.
    validate({ ...found, spec: { ...(partAt(found, 'spec') as object), unknown: 1 } });
    expect(validate.errors).toMatchObject([{ keyword: 'additionalProperties' }]);
  },
);
