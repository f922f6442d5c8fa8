import { isDeepStrictEqual } from 'node:util';
import {
  type IntegerSchema,
  isDateTime,
  isMembers,
  type ListSchema,
  type ObjectSchema,
  type Rule,
  type Schema,
  type TextSchema,
  type Value,
} from './schema.ts';

/** One reason for which the API server refuses an object. */
export interface Fault {
  /** As `spec.containerFile[0].content`; empty for the whole object. */
  readonly path: string;
  /** In the server's words. */
  readonly message: string;
  /** The server asks no rule of `x-kubernetes-validations` while there is one like this. */
  readonly isBlocking: boolean;
}

/** What the server adds when it has not asked the rules. */
const RULES_NOT_ASKED: Fault = {
  path: '',
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  isBlocking: false,
};

/** The fault as it stands in the server's answer. */
export const faultText = ({ path, message }: Fault): string =>
  `${path === '' ? '<nil>' : path}: ${message}`;

/** A fault that keeps rules from being asked. */
export const blocking = (path: string, message: string): Fault => ({
  path,
  message,
  isBlocking: true,
});

/** A fault beside which the rules are asked all the same. */
export const fault = (path: string, message: string): Fault => ({
  path,
  message,
  isBlocking: false,
});

/** A value with where it stands and what was there before. */
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
 * unless that is too broken to ask them, the rules. What an update leaves as it was is not looked at again.
 * @param others faults found elsewhere in the same request
 */
export function checkValue(
  subject: Subject,
  schema: Schema,
  others: readonly Fault[] = [],
): readonly Fault[] {
  const structural = [...others, ...walk(subject, schema, structureFaults)];
  if (structural.some(({ isBlocking }) => isBlocking)) return [...structural, RULES_NOT_ASKED];
  return [...structural, ...walk(subject, schema, ruleFaults)];
}

/**
 * Every fault that can be told at once: the rules are asked too wherever nothing below them is broken, which the
 * server does only in the next attempt.
 */
export function checkWhole(
  subject: Subject,
  schema: Schema,
  others: readonly Fault[] = [],
): readonly Fault[] {
  const structural = [...others, ...walk(subject, schema, structureFaults)];
  const broken = structural.filter(({ isBlocking }) => isBlocking).map(({ path }) => path);
  const rules = walk(subject, schema, ruleFaults).filter(
    ({ path }) => !broken.some((deeper) => deeper.startsWith(path)),
  );
  return [...structural, ...rules];
}

type Look = (subject: Subject, schema: Schema) => readonly Fault[];

/** Looks at a node and all below it. Old entries of a list are found by their keys. */
function walk(subject: Subject, schema: Schema, look: Look): readonly Fault[] {
  const { value, old } = subject;
  if (old !== undefined && isDeepStrictEqual(value, old)) return [];
  const own = look(subject, schema);
  if (schema.type === 'object' && isMembers(value)) {
    const before = isMembers(old) ? old : {};
    const deeper = Object.entries(schema.properties).flatMap(([name, property]) => {
      const member = value[name];
      if (member === undefined) return [];
      return walk(step(subject, `.${name}`, [member, before[name]]), property, look);
    });
    return [...own, ...deeper];
  }
  if (schema.type !== 'array' || !isList(value)) return own;
  const before = isList(old) ? old : [];
  const deeper = value.flatMap((item, index) => {
    const key = keyOf(item, schema);
    const was = before.find((candidate) => keyOf(candidate, schema) === key);
    return walk(step(subject, `[${index}]`, [item, was]), schema.items, look);
  });
  return [...own, ...deeper];
}

const isList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

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
    isMembers(item) ? Object.fromEntries(mapKeys.map((key) => [key, item[key]])) : item,
  );

function structureFaults(subject: Subject, schema: Schema): readonly Fault[] {
  switch (schema.type) {
    case 'any':
      return [];
    case 'string':
      return textFaults(subject, schema);
    case 'integer':
      return integerFaults(subject, schema);
    case 'array':
      return listFaults(subject, schema);
    case 'object':
      return objectFaults(subject, schema);
  }
}

const typeOf = (value: Value): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

function wrongType({ value, path, bodyPath }: Subject, wanted: string): readonly Fault[] {
  const type = JSON.stringify(typeOf(value));
  const message = `Invalid value: ${type}: ${bodyPath} in body must be of type ${wanted}: ${type}`;
  return [blocking(path, message)];
}

function textFaults(subject: Subject, schema: TextSchema): readonly Fault[] {
  const { value, path } = subject;
  const isText = typeof value === 'string';
  const isSupported = schema.enum === undefined || (isText && schema.enum.includes(value));
  return [
    ...(isText ? [] : wrongType(subject, 'string')),
    ...(isSupported
      ? []
      : [blocking(path, `Unsupported value: ${shown(value)}: ${supported(schema.enum)}`)]),
    ...(isText ? lengthFaults(subject, schema, value) : []),
    ...(isText && schema.isDateTime === true && !isDateTime(value)
      ? [blocking(path, `${invalid(subject)} must be of type date-time: ${shown(value)}`)]
      : []),
  ];
}

/** One of three: too long, too short, or of the wrong form. */
function lengthFaults(
  subject: Subject,
  { minLength = 0, maxLength = Infinity, pattern }: TextSchema,
  text: string,
): readonly Fault[] {
  const length = Array.from(text).length;
  if (length > maxLength) {
    return [blocking(subject.path, `Too long: may not be more than ${maxLength} bytes`)];
  }
  if (length < minLength) {
    return [fault(subject.path, `${invalid(subject)} should be at least ${minLength} chars long`)];
  }
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return [];
  return [fault(subject.path, `${invalid(subject)} should match '${pattern}'`)];
}

const invalid = ({ value, bodyPath }: Subject): string =>
  `Invalid value: ${shown(value)}: ${bodyPath} in body`;

/** Objects and lists are shown as JSON, as Go's field errors do. */
const shown = (value: Value): string => JSON.stringify(value);

const supported = (words: readonly string[]): string =>
  `supported values: ${words.map((word) => JSON.stringify(word)).join(', ')}`;

function integerFaults(subject: Subject, { minimum }: IntegerSchema): readonly Fault[] {
  const { value, path, bodyPath } = subject;
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType(subject, 'integer');
  if (minimum === undefined || value >= minimum) return [];
  const problem = `${bodyPath} in body should be greater than or equal to ${minimum}`;
  return [fault(path, `Invalid value: ${value}: ${problem}`)];
}

function listFaults(subject: Subject, schema: ListSchema): readonly Fault[] {
  const { value, path } = subject;
  if (!isList(value)) return wrongType(subject, 'array');
  const { maxItems = Infinity, mapKeys } = schema;
  const faults: Fault[] = [];
  if (value.length > maxItems) {
    const problem = `Too many: ${value.length}: must have at most ${maxItems} items`;
    faults.push(blocking(path, problem));
  }
  const odd = value.findIndex((item) => item !== null && !isMembers(item));
  if (odd >= 0) {
    const problem = `Invalid value: ${shown(value[odd] ?? null)}: must be an object for an array of list-type map`;
    return [...faults, fault(`${path}[${odd}]`, problem)];
  }
  const keys = value.map((item) => (isMembers(item) ? keyOf(item, schema) : undefined));
  for (const [index, key] of keys.entries()) {
    const isSecond = key !== undefined && keys.indexOf(key) < index;
    if (isSecond && keys.slice(0, index).filter((earlier) => earlier === key).length === 1) {
      const item = value[index] ?? null;
      const known = isMembers(item) ? item : {};
      const members = [...mapKeys].sort().map((name) => [name, known[name]] as const);
      const problem = `Duplicate value: ${JSON.stringify(Object.fromEntries(members))}`;
      faults.push(fault(`${path}[${index}]`, problem));
    }
  }
  return faults;
}

function objectFaults(subject: Subject, { required = [] }: ObjectSchema): readonly Fault[] {
  const { value, path } = subject;
  if (!isMembers(value)) return wrongType(subject, 'object');
  return required
    .filter((name) => value[name] === undefined)
    .map((name) => blocking(path === '' ? name : `${path}.${name}`, 'Required value'));
}

function ruleFaults({ value, old, path }: Subject, schema: Schema): readonly Fault[] {
  if (schema.type === 'any' || schema.rules === undefined) return [];
  if (typeOf(value) !== schema.type) return [];
  // The type was just looked at.
  const rules = schema.rules as readonly Rule<Value>[];
  return rules
    .filter(({ needsOld }) => needsOld !== true || old !== undefined)
    .filter(({ holds }) => !holds(value, old))
    .map(({ message }) => fault(path, `Invalid value: "${schema.type}": ${message}`));
}
