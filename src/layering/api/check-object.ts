import { Ajv, type ErrorObject, type SchemaValidateFunction, type ValidateFunction } from 'ajv';
import * as z from 'zod';
import { nearestName } from '../../lib/nearest.ts';
import definition from './machine-os-config.json' with { type: 'json' };
import {
  type Fields,
  fieldsOf,
  hasDigest,
  isDns1035Label,
  isDns1123Label,
  isFields,
  isList,
  isPullName,
  isPushSpec,
  isSubdomain,
  type Value,
} from './schema.ts';

/** One reason why the API server refuses an object. */
export interface FieldError {
  /** As `spec.containerFile[0].content`; empty for the whole object. */
  readonly path: string;
  /** In the server's words. */
  readonly message: string;
  /** Of an error that says by itself what to write. */
  readonly kind?: 'missing' | 'duplicate' | undefined;
  /** A rule in CEL. The server checks none while an error blocks them. */
  readonly isRule: boolean;
  readonly isBlocking: boolean;
}

/** The error as the server prints it. */
export const fieldErrorText = ({ path, message }: FieldError): string =>
  `${path === '' ? '<nil>' : path}: ${message}`;

/** A part of a schema, as far as it is walked here. */
interface Schema {
  readonly [keyword: string]: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/**
 * The schema of the CRD (openshift/api, machineconfiguration/v1, set of features Default), without
 * its descriptions.
 */
const schema: Schema = {
  ...definition,
  // These three are the same for every kind, and read elsewhere.
  properties: { ...definition.properties, apiVersion: {}, kind: {}, metadata: {} },
};

const NAME_FORM =
  'the OCI Image name should follow the host[:port][/namespace]/name format, resembling a valid URL without the scheme';

const onText =
  (holds: (text: string) => boolean) =>
  (self: Value): boolean =>
    typeof self === 'string' && holds(self);

/**
 * The rules in CEL (`x-kubernetes-validations`) by the words that the server answers with. Those of
 * a transition hold for an object that is new.
 */
const rules: Readonly<Record<string, (self: Value) => boolean>> = {
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character.":
    onText(isSubdomain),
  'the value must consist of only lowercase alphanumeric characters and hyphens':
    onText(isDns1123Label),
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character":
    onText(isDns1035Label),
  [`${NAME_FORM}. Or it must be a valid .svc followed by a port, repository, image name, and tag.`]:
    onText(isPushSpec),
  "the OCI Image reference must end with a valid '@sha256:<digest>' suffix, where '<digest>' is 64 characters long":
    onText(hasDigest),
  [NAME_FORM]: onText((text) => isPullName(text.split('@')[0] ?? '')),
  'observedGeneration must not move backwards': () => true,
  'MachineOSConfig name must match the referenced MachineConfigPool name; can only have one MachineOSConfig per MachineConfigPool':
    (self) => {
      const { metadata, spec } = fieldsOf(self);
      const pool = fieldsOf(fieldsOf(spec)['machineConfigPool'])['name'];
      return fieldsOf(metadata)['name'] === pool;
    },
};

/** What a keyword of Kubernetes finds, and in which entry of a list. */
interface Problem {
  readonly message: string;
  readonly entry?: number;
  readonly kind?: FieldError['kind'];
}

function checkedBy<K, V extends Value>(
  keyword: string,
  problemsIn: (value: K, data: V, parent: Fields) => readonly Problem[],
): SchemaValidateFunction {
  const check: SchemaValidateFunction = (...[value, data, parent, context]) => {
    const problems = problemsIn(value as K, data as V, parent as Fields);
    const from = context?.instancePath ?? '';
    check.errors = problems.map(({ message, entry, kind }) => ({
      keyword,
      params: { kind },
      message,
      instancePath: entry === undefined ? from : `${from}/${entry}`,
    }));
    return problems.length === 0;
  };
  return check;
}

const keysKeyword = 'x-kubernetes-list-map-keys';
const ruleKeyword = 'x-kubernetes-validations';

/** Entries of a list that are no objects, or that have the keys of another. */
function listProblems(keys: readonly string[], list: readonly Value[]): readonly Problem[] {
  const odd = list.findIndex((item) => item !== null && !isFields(item));
  if (odd >= 0) {
    const message = `Invalid value: ${shown(list[odd])}: must be an object for an array of list-type map`;
    return [{ entry: odd, message }];
  }
  const keyOf = (item: Value): string =>
    JSON.stringify(Object.fromEntries(keys.map((key) => [key, fieldsOf(item)[key]])));
  const seen = list.map((item) => (item === null ? undefined : keyOf(item)));
  return seen.flatMap((key, index) =>
    key !== undefined && seen.slice(0, index).filter((other) => other === key).length === 1
      ? [{ entry: index, message: `Duplicate value: ${key}`, kind: 'duplicate' as const }]
      : [],
  );
}

function ruleProblems(
  listed: readonly { readonly message: string }[],
  self: Value,
  { type }: Fields,
): readonly Problem[] {
  return typeOf(self) === type
    ? listed
        .filter(({ message }) => rules[message]?.(self) !== true)
        .map(({ message }) => ({ message: `Invalid value: "${type}": ${message}` }))
    : [];
}

let compiled: ValidateFunction | undefined;

/** Compiled when it is used first: few commands do. It changes what it checks. */
const validator = (): ValidateFunction =>
  (compiled ??= new Ajv({
    allErrors: true,
    verbose: true,
    strict: false,
    useDefaults: true,
    removeAdditional: 'all',
    formats: {
      int64: true,
      'date-time': (text: string) =>
        z.iso.datetime({ offset: true }).safeParse(text.toUpperCase()).success,
    },
  })
    .addKeyword({
      keyword: keysKeyword,
      type: 'array',
      before: 'items',
      validate: checkedBy(keysKeyword, listProblems),
    })
    .addKeyword({ keyword: ruleKeyword, validate: checkedBy(ruleKeyword, ruleProblems) })
    .compile(schema));

/** An object as the server would store it: without unknown fields and nulls, with defaults. */
export function preparedObject(object: Fields): Fields {
  const value = fieldsOf(withoutNulls(object));
  validator()(value);
  return value;
}

const withoutNulls = (value: Value | undefined): Value => {
  if (isList(value)) return value.map((item) => withoutNulls(item));
  if (!isFields(value)) return value ?? null;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
};

/**
 * Every error of a MachineOSConfig that can be found at once, in its status too, in the words of
 * API server 1.34: the rules are checked too wherever nothing below them is broken, which the
 * server does only in the next attempt.
 */
export function fieldErrors(object: Fields): readonly FieldError[] {
  const value = preparedObject(object);
  const validate = validator();
  validate(value);
  const found = validate.errors ?? [];
  const errors = found.filter((error) => !isImplied(error, found)).map(fieldErrorOf);
  const all = [...nameErrors(object), ...errors];
  const broken = all.filter(({ isBlocking }) => isBlocking).map(({ path }) => path);
  // The server checks the status apart from the rest.
  const isBelow = (path: string, above: string): boolean =>
    above === '' ? !isOfStatus(path) : path.startsWith(above);
  const rank = ({ path, isRule }: FieldError): number =>
    (isOfStatus(path) ? 2 : 0) + (isRule ? 1 : 0);
  return all
    .filter(({ path, isRule }) => !isRule || !broken.some((deeper) => isBelow(deeper, path)))
    .sort((one, other) => rank(one) - rank(other));
}

const isOfStatus = (path: string): boolean => /^status(?:\.|$)/.test(path);

/** The server stops at the length of a text, and at the type of a number. */
const impliedBy: Readonly<Record<string, readonly string[]>> = {
  pattern: ['minLength', 'maxLength'],
  minimum: ['type'],
};

const isImplied = (error: ErrorObject, all: readonly ErrorObject[]): boolean =>
  all.some(
    ({ keyword, instancePath }) =>
      instancePath === error.instancePath && impliedBy[error.keyword]?.includes(keyword) === true,
  );

/** What does not keep the server from checking rules. */
const harmless: ReadonlySet<string> = new Set([
  ...['minLength', 'pattern', 'minimum'],
  ...[keysKeyword, ruleKeyword],
]);

function fieldErrorOf(error: ErrorObject): FieldError {
  const { keyword, instancePath, params } = error;
  const missing = keyword === 'required' ? `/${String(params['missingProperty'])}` : '';
  const path = (instancePath + missing)
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  return {
    path,
    message: messageOf(error, path),
    kind: keyword === 'required' ? 'missing' : (params['kind'] as FieldError['kind']),
    isRule: keyword === ruleKeyword,
    isBlocking: !harmless.has(keyword),
  };
}

function messageOf({ keyword, params, data, message }: ErrorObject, path: string): string {
  const value = data as Value;
  const limit = String(params['limit']);
  const type = JSON.stringify(typeOf(value));
  const inBody = `${path.replace(/^status\.?/, '')} in body`;
  switch (keyword) {
    case 'type':
      return `Invalid value: ${type}: ${inBody} must be of type ${String(params['type'])}: ${type}`;
    case 'required':
      return 'Required value';
    case 'enum':
      return `Unsupported value: ${shown(value)}: supported values: ${(params['allowedValues'] as readonly string[]).map(shown).join(', ')}`;
    case 'maxLength':
      return `Too long: may not be more than ${limit} bytes`;
    case 'maxItems':
      return `Too many: ${(value as readonly Value[]).length}: must have at most ${limit} items`;
    case 'minLength':
      return `Invalid value: ${shown(value)}: ${inBody} should be at least ${limit} chars long`;
    case 'minimum':
      return `Invalid value: ${shown(value)}: ${inBody} should be greater than or equal to ${limit}`;
    case 'pattern':
      return `Invalid value: ${shown(value)}: ${inBody} should match '${String(params['pattern'])}'`;
    case 'format':
      return `Invalid value: ${shown(value)}: ${inBody} must be of type date-time: ${shown(value)}`;
    default:
      return message ?? '';
  }
}

/** Objects and lists are shown as JSON, as Go's field errors do. */
const shown = (value: Value | undefined): string => JSON.stringify(value);

const typeOf = (value: Value): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const NAME_LIMIT = 253;

/** The rule of names is that of every kind, and in no schema. */
function nameErrors({ metadata }: Fields): readonly FieldError[] {
  const name = fieldsOf(metadata)['name'];
  const nameError = (message: string, isBlocking: boolean): FieldError => ({
    path: 'metadata.name',
    message,
    isRule: false,
    isBlocking,
  });
  if (typeof name !== 'string' || name === '') {
    return [nameError('Required value: name or generateName is required', true)];
  }
  const isTooLong = Array.from(name).length > NAME_LIMIT;
  return [
    ...(isTooLong ? [`must be no more than ${NAME_LIMIT} characters`] : []),
    ...(isSubdomain(name.slice(0, isTooLong ? NAME_LIMIT : undefined))
      ? []
      : [
          String.raw`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
        ]),
  ].map((problem) => nameError(`Invalid value: ${shown(name)}: ${problem}`, false));
}

const anyFields = (...names: readonly string[]): Schema => ({
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

/** The fields of `metadata`, which are the same for every kind (apimachinery, meta/v1). */
const objectMeta: Schema = {
  properties: {
    ...anyFields(
      ...['annotations', 'creationTimestamp', 'deletionGracePeriodSeconds', 'deletionTimestamp'],
      ...['finalizers', 'generateName', 'generation', 'labels', 'name', 'namespace'],
      ...['resourceVersion', 'selfLink', 'uid'],
    ).properties,
    managedFields: {
      items: anyFields(
        ...['apiVersion', 'fieldsType', 'fieldsV1', 'manager', 'operation', 'subresource', 'time'],
      ),
    },
    ownerReferences: {
      items: anyFields(
        ...['apiVersion', 'blockOwnerDeletion', 'controller', 'kind', 'name', 'uid'],
      ),
    },
  },
};

/**
 * A field that is not in the definition of a kind: the server drops it, or refuses it in strict
 * mode.
 */
export interface UnknownField {
  readonly segments: readonly (string | number)[];
  /** In the words of a server in strict mode. */
  readonly message: string;
  /** The name that was meant, most likely. */
  readonly nearest: string | undefined;
}

/** The fields of an object that its definition does not have, in metadata and status too. */
export const unknownFields = (object: Fields): readonly UnknownField[] =>
  unknownBelow(object, { properties: { ...schema.properties, metadata: objectMeta } }, []);

function unknownBelow(
  value: Value,
  { properties, items }: Schema,
  segments: readonly (string | number)[],
): readonly UnknownField[] {
  if (items !== undefined && isList(value)) {
    return value.flatMap((item, index) => unknownBelow(item, items, [...segments, index]));
  }
  if (properties === undefined || !isFields(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const deeper = [...segments, name];
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property !== undefined) return unknownBelow(member, property, deeper);
    const path = deeper.map((one) => (typeof one === 'number' ? `[${one}]` : `.${one}`)).join('');
    const message = `strict decoding error: unknown field ${JSON.stringify(path.slice(1))}`;
    return [{ segments: deeper, message, nearest: nearestName(name, Object.keys(properties)) }];
  });
}
