import { isDeepStrictEqual } from 'node:util';
import {
  type IntegerSchema,
  isDateTime,
  isFields,
  type ListSchema,
  type ObjectSchema,
  type Rule,
  type Schema,
  type TextSchema,
  type Value,
  isList,
  fieldsOf,
} from './schema.ts';

/** One reason why the API server refuses an object. */
export interface FieldError {
  /** As `spec.containerFile[0].content`; empty for the whole object. */
  readonly path: string;
  /** In the server's words. */
  readonly message: string;
  /** The server checks no rule of `x-kubernetes-validations` while there is one like this. */
  readonly isBlocking: boolean;
}

/** What the server adds when it has not checked the rules. */
const RULES_NOT_ASKED: FieldError = {
  path: '',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  isBlocking: false,
};

/** The error as the server prints it. */
export const fieldErrorText = ({ path, message }: FieldError): string =>
  `${path === '' ? '<nil>' : path}: ${message}`;

/** An error that keeps the server from checking rules. */
export const blocking = (path: string, message: string): FieldError => ({
  path,
  message,
  isBlocking: true,
});

/** An error that does not keep the server from checking rules. */
export const fieldError = (path: string, message: string): FieldError => ({
  path,
  message,
  isBlocking: false,
});

/** A value with its path and the value before it. */
export interface Subject {
  readonly value: Value;
  /** Undefined where it is new. */
  readonly old?: Value | undefined;
  readonly path: string;
  /** The path as the messages of OpenAPI name it: from the part of the object that was sent. */
  readonly bodyPath: string;
}

/**
 * What the API server (1.34) finds wrong with a prepared value: structure, entries that are there twice, and,
 * unless that is too broken to check them, the rules. What an update does not change is not checked again.
 * @param others errors found elsewhere in the same request
 */
export function checkValue(
  subject: Subject,
  schema: Schema,
  others: readonly FieldError[] = [],
): readonly FieldError[] {
  const structural = [...others, ...walk(subject, schema, structureErrors)];
  if (structural.some(({ isBlocking }) => isBlocking)) return [...structural, RULES_NOT_ASKED];
  return [...structural, ...walk(subject, schema, ruleErrors)];
}

/**
 * Every error that can be found at once: the rules are checked too wherever nothing below them is broken, which the
 * server does only in the next attempt.
 */
export function checkWhole(
  subject: Subject,
  schema: Schema,
  others: readonly FieldError[] = [],
): readonly FieldError[] {
  const structural = [...others, ...walk(subject, schema, structureErrors)];
  const broken = structural.filter(({ isBlocking }) => isBlocking).map(({ path }) => path);
  const rules = walk(subject, schema, ruleErrors).filter(
    ({ path }) => !broken.some((deeper) => deeper.startsWith(path)),
  );
  return [...structural, ...rules];
}

type Check = (subject: Subject, schema: Schema) => readonly FieldError[];

/** Checks a value and all below it. Old entries of a list are found by their keys. */
function walk(subject: Subject, schema: Schema, check: Check): readonly FieldError[] {
  const { value, old } = subject;
  if (old !== undefined && isDeepStrictEqual(value, old)) return [];
  const own = check(subject, schema);
  if (schema.type === 'object' && isFields(value)) {
    const before = fieldsOf(old);
    const deeper = Object.entries(schema.properties).flatMap(([name, property]) => {
      const member = value[name];
      if (member === undefined) return [];
      return walk(step(subject, `.${name}`, [member, before[name]]), property, check);
    });
    return [...own, ...deeper];
  }
  if (schema.type !== 'array' || !isList(value)) return own;
  const before = isList(old) ? old : [];
  const deeper = value.flatMap((item, index) => {
    const key = keyOf(item, schema);
    const was = before.find((candidate) => keyOf(candidate, schema) === key);
    return walk(step(subject, `[${index}]`, [item, was]), schema.items, check);
  });
  return [...own, ...deeper];
}

function step(
  { path, bodyPath }: Subject,
  segment: string,
  [value, old]: readonly [Value, Value | undefined],
): Subject {
  const joined = (from: string): string =>
    from === '' ? segment.replace(/^\./, '') : from + segment;
  return { value, old, path: joined(path), bodyPath: joined(bodyPath) };
}

const keyOf = (item: Value, { mapKeys }: ListSchema): string =>
  JSON.stringify(
    isFields(item) ? Object.fromEntries(mapKeys.map((key) => [key, item[key]])) : item,
  );

function structureErrors(subject: Subject, schema: Schema): readonly FieldError[] {
  switch (schema.type) {
    case 'any':
      return [];
    case 'string':
      return textErrors(subject, schema);
    case 'integer':
      return integerErrors(subject, schema);
    case 'array':
      return listErrors(subject, schema);
    case 'object':
      return objectErrors(subject, schema);
  }
}

const typeOf = (value: Value): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

function wrongType({ value, path, bodyPath }: Subject, wanted: string): readonly FieldError[] {
  const type = JSON.stringify(typeOf(value));
  const message = `Invalid value: ${type}: ${bodyPath} in body must be of type ${wanted}: ${type}`;
  return [blocking(path, message)];
}

function textErrors(subject: Subject, schema: TextSchema): readonly FieldError[] {
  const { value, path } = subject;
  const isText = typeof value === 'string';
  const isSupported = schema.enum === undefined || (isText && schema.enum.includes(value));
  return [
    ...(isText ? [] : wrongType(subject, 'string')),
    ...(isSupported
      ? []
      : [blocking(path, `Unsupported value: ${shown(value)}: ${supported(schema.enum)}`)]),
    ...(isText ? lengthErrors(subject, schema, value) : []),
    ...(isText && schema.isDateTime === true && !isDateTime(value)
      ? [blocking(path, `${invalid(subject)} must be of type date-time: ${shown(value)}`)]
      : []),
  ];
}

/** One of three: too long, too short, or of the wrong form. */
function lengthErrors(
  subject: Subject,
  { minLength = 0, maxLength = Infinity, pattern }: TextSchema,
  text: string,
): readonly FieldError[] {
  const length = Array.from(text).length;
  if (length > maxLength) {
    return [blocking(subject.path, `Too long: may not be more than ${maxLength} bytes`)];
  }
  if (length < minLength) {
    return [
      fieldError(subject.path, `${invalid(subject)} should be at least ${minLength} chars long`),
    ];
  }
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return [];
  return [fieldError(subject.path, `${invalid(subject)} should match '${pattern}'`)];
}

const invalid = ({ value, bodyPath }: Subject): string =>
  `Invalid value: ${shown(value)}: ${bodyPath} in body`;

/** Objects and lists are shown as JSON, as Go's field errors do. */
const shown = (value: Value): string => JSON.stringify(value);

const supported = (words: readonly string[]): string =>
  `supported values: ${words.map((word) => JSON.stringify(word)).join(', ')}`;

function integerErrors(subject: Subject, { minimum }: IntegerSchema): readonly FieldError[] {
  const { value, path, bodyPath } = subject;
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType(subject, 'integer');
  if (minimum === undefined || value >= minimum) return [];
  const problem = `${bodyPath} in body should be greater than or equal to ${minimum}`;
  return [fieldError(path, `Invalid value: ${value}: ${problem}`)];
}

function listErrors(subject: Subject, schema: ListSchema): readonly FieldError[] {
  const { value, path } = subject;
  if (!isList(value)) return wrongType(subject, 'array');
  const { maxItems = Infinity, mapKeys } = schema;
  const errors: FieldError[] = [];
  if (value.length > maxItems) {
    const problem = `Too many: ${value.length}: must have at most ${maxItems} items`;
    errors.push(blocking(path, problem));
  }
  const odd = value.findIndex((item) => item !== null && !isFields(item));
  if (odd >= 0) {
    const problem = `Invalid value: ${shown(value[odd] ?? null)}: must be an object for an array of list-type map`;
    return [...errors, fieldError(`${path}[${odd}]`, problem)];
  }
  const keys = value.map((item) => (isFields(item) ? keyOf(item, schema) : undefined));
  const counts = new Map<string, number>();
  for (const [index, key] of keys.entries()) {
    const earlier = key === undefined ? 0 : (counts.get(key) ?? 0);
    if (key !== undefined) counts.set(key, earlier + 1);
    if (earlier === 1) {
      const item = value[index] ?? null;
      const known = fieldsOf(item);
      const members = [...mapKeys].sort().map((name) => [name, known[name]] as const);
      const problem = `Duplicate value: ${JSON.stringify(Object.fromEntries(members))}`;
      errors.push(fieldError(`${path}[${index}]`, problem));
    }
  }
  return errors;
}

function objectErrors(subject: Subject, { required = [] }: ObjectSchema): readonly FieldError[] {
  const { value, path } = subject;
  if (!isFields(value)) return wrongType(subject, 'object');
  return required
    .filter((name) => value[name] === undefined)
    .map((name) => blocking(path === '' ? name : `${path}.${name}`, 'Required value'));
}

function ruleErrors({ value, old, path }: Subject, schema: Schema): readonly FieldError[] {
  if (schema.type === 'any' || schema.rules === undefined) return [];
  if (typeOf(value) !== schema.type) return [];
  // The type was just checked.
  const rules = schema.rules as readonly Rule<Value>[];
  return rules
    .filter(({ needsOld }) => needsOld !== true || old !== undefined)
    .filter(({ holds }) => !holds(value, old))
    .map(({ message }) => fieldError(path, `Invalid value: "${schema.type}": ${message}`));
}
