import { checkValue, checkWhole } from './check.ts';
import { blocking, fault, type Fault } from './fault.ts';
import { isSubdomain } from './formats.ts';
import { prepared } from './prepare.ts';
import { isMembers, type Members, type ObjectSchema, type Value } from './schema.ts';

/** The name of an object is looked at by the same rule for every kind. */
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
export const preparedObject = (object: Members, { schema }: DefinedKind): Members => {
  const made = prepared(object, schema);
  return isMembers(made) ? made : {};
};

/** What the server finds wrong with an object that is created, or that takes the place of another. */
export function checkObject(object: Members, kind: DefinedKind, old?: Members): readonly Fault[] {
  const value = preparedObject(object, kind);
  const subject = {
    value,
    old: old === undefined ? undefined : preparedObject(old, kind),
    path: '',
    bodyPath: '',
  };
  return checkValue(subject, kind.schema, nameFaults(object));
}

/** Every fault of an object that can be told at once, its status included. */
export function everyFault(object: Members, kind: DefinedKind): readonly Fault[] {
  const subject = { value: preparedObject(object, kind), path: '', bodyPath: '' };
  const { status } = object;
  const whole = checkWhole(subject, kind.schema, nameFaults(object));
  if (status === undefined) return whole;
  const part = { value: prepared(status, kind.status), path: 'status', bodyPath: '' };
  return [...whole, ...checkWhole(part, kind.status)];
}

/** What the server finds wrong with a status that takes the place of another. */
export function checkStatus(
  status: Value,
  { status: schema }: DefinedKind,
  old?: Value,
): readonly Fault[] {
  const value = prepared(status, schema);
  const before = old === undefined ? undefined : prepared(old, schema);
  return checkValue({ value, old: before, path: 'status', bodyPath: '' }, schema);
}

function nameFaults({ metadata }: Members): readonly Fault[] {
  const name = isMembers(metadata) ? metadata['name'] : undefined;
  if (typeof name !== 'string' || name === '') {
    return [blocking('metadata.name', 'Required value: name or generateName is required')];
  }
  if (isSubdomain(name)) return [];
  const quoted = `Invalid value: ${JSON.stringify(name)}`;
  const tooLong =
    Array.from(name).length > NAME_LIMIT ? [`must be no more than ${NAME_LIMIT} characters`] : [];
  const malformed = isSubdomain(name.slice(0, NAME_LIMIT)) && tooLong.length > 0 ? [] : [NAME_FORM];
  return [...tooLong, ...malformed].map((problem) =>
    fault('metadata.name', `${quoted}: ${problem}`),
  );
}
