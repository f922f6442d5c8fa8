import { nearestName } from '../../lib/nearest.ts';
import { blocking, checkValue, checkWhole, fieldError, type FieldError } from './check-value.ts';
import {
  isFields,
  isSubdomain,
  type Fields,
  type ObjectSchema,
  type Schema,
  type Value,
  isList,
  fieldsOf,
} from './schema.ts';

/** The name of an object has the same rule in every kind. */
const NAME_FORM = String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`;
const NAME_LIMIT = 253;

/** A kind of objects that is defined by a CRD with a status of its own. */
export interface DefinedKind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: ObjectSchema;
  readonly status: ObjectSchema;
}

/** An object as the server would store it. The status of what is sent is not kept. */
export const preparedObject = (object: Fields, { schema }: DefinedKind): Fields => {
  const made = prepared(object, schema);
  return fieldsOf(made);
};

/** The errors of an object that is created, or that replaces another. */
export function checkObject(
  object: Fields,
  kind: DefinedKind,
  old?: Fields,
): readonly FieldError[] {
  const value = preparedObject(object, kind);
  const subject = {
    value,
    old: old === undefined ? undefined : preparedObject(old, kind),
    path: '',
    bodyPath: '',
  };
  return checkValue(subject, kind.schema, nameErrors(object));
}

/** Every error of an object that can be found at once, in its status too. */
export function allFieldErrors(object: Fields, kind: DefinedKind): readonly FieldError[] {
  const subject = { value: preparedObject(object, kind), path: '', bodyPath: '' };
  const { status } = object;
  const whole = checkWhole(subject, kind.schema, nameErrors(object));
  if (status === undefined) return whole;
  const part = { value: prepared(status, kind.status), path: 'status', bodyPath: '' };
  return [...whole, ...checkWhole(part, kind.status)];
}

function nameErrors({ metadata }: Fields): readonly FieldError[] {
  const name = isFields(metadata) ? metadata['name'] : undefined;
  if (typeof name !== 'string' || name === '') {
    return [blocking('metadata.name', 'Required value: name or generateName is required')];
  }
  if (isSubdomain(name)) return [];
  const quoted = `Invalid value: ${JSON.stringify(name)}`;
  const tooLong =
    Array.from(name).length > NAME_LIMIT ? [`must be no more than ${NAME_LIMIT} characters`] : [];
  const malformed = isSubdomain(name.slice(0, NAME_LIMIT)) && tooLong.length > 0 ? [] : [NAME_FORM];
  return [...tooLong, ...malformed].map((problem) =>
    fieldError('metadata.name', `${quoted}: ${problem}`),
  );
}

/**
 * What the server makes of an object before it checks it: unknown fields and nulls are dropped, defaults
 * are set. A value of another type than the schema's is left as it is.
 */
function prepared(value: Value, schema: Schema): Value {
  if (schema.type === 'object') return isFields(value) ? preparedFields(value, schema) : value;
  if (schema.type !== 'array' || !isList(value)) return value;
  return value.map((item) => prepared(item, schema.items));
}

function preparedFields(members: Fields, { properties }: ObjectSchema): Fields {
  const kept = Object.entries(properties).flatMap(([name, schema]) => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (value !== undefined && value !== null) return [[name, prepared(value, schema)] as const];
    const byDefault = schema.type === 'string' ? schema.default : undefined;
    return byDefault === undefined ? [] : [[name, byDefault] as const];
  });
  return Object.fromEntries(kept);
}

/** An owner of an object, in `metadata.ownerReferences`. */
const owner: ObjectSchema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'any' },
    blockOwnerDeletion: { type: 'any' },
    controller: { type: 'any' },
    kind: { type: 'any' },
    name: { type: 'any' },
    uid: { type: 'any' },
  },
};

/** Who has written which fields, as `oc get --show-managed-fields` prints it. */
const managedFields: ObjectSchema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'any' },
    fieldsType: { type: 'any' },
    fieldsV1: { type: 'any' },
    manager: { type: 'any' },
    operation: { type: 'any' },
    subresource: { type: 'any' },
    time: { type: 'any' },
  },
};

/** The fields of `metadata`, which are the same for every kind (apimachinery, meta/v1). */
const objectMeta: ObjectSchema = {
  type: 'object',
  properties: {
    annotations: { type: 'any' },
    creationTimestamp: { type: 'any' },
    deletionGracePeriodSeconds: { type: 'any' },
    deletionTimestamp: { type: 'any' },
    finalizers: { type: 'any' },
    generateName: { type: 'any' },
    generation: { type: 'any' },
    labels: { type: 'any' },
    managedFields: { type: 'array', mapKeys: [], items: managedFields },
    name: { type: 'any' },
    namespace: { type: 'any' },
    ownerReferences: { type: 'array', mapKeys: [], items: owner },
    resourceVersion: { type: 'any' },
    selfLink: { type: 'any' },
    uid: { type: 'any' },
  },
};

/** A field that is not in the definition of a kind: the server drops it, or refuses it in strict mode. */
export interface UnknownField {
  readonly segments: readonly (string | number)[];
  /** In the words of a server in strict mode. */
  readonly message: string;
  /** The name that was meant, most likely. */
  readonly nearest: string | undefined;
}

/** The fields of an object that its definition does not have, in metadata and status too. */
export const unknownFields = (object: Fields, kind: DefinedKind): readonly UnknownField[] =>
  unknownBelow(object, wholeSchema(kind), []);

const wholeSchema = ({ schema, status }: DefinedKind): ObjectSchema => ({
  ...schema,
  properties: { ...schema.properties, metadata: objectMeta, status },
});

function unknownBelow(
  value: Value,
  schema: Schema,
  segments: readonly (string | number)[],
): readonly UnknownField[] {
  if (schema.type === 'array' && Array.isArray(value)) {
    return (value as readonly Value[]).flatMap((item, index) =>
      unknownBelow(item, schema.items, [...segments, index]),
    );
  }
  if (schema.type !== 'object' || !isFields(value)) return [];
  const { properties } = schema;
  return Object.entries(value).flatMap(([name, member]) => {
    const deeper = [...segments, name];
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property !== undefined) return unknownBelow(member, property, deeper);
    const message = `strict decoding error: unknown field ${JSON.stringify(pathOf(deeper))}`;
    return [{ segments: deeper, message, nearest: nearestName(name, Object.keys(properties)) }];
  });
}

const pathOf = (segments: readonly (string | number)[]): string =>
  segments
    .map((segment) => (typeof segment === 'number' ? `[${segment}]` : `.${segment}`))
    .join('')
    .replace(/^\./, '');
