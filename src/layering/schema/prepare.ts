import { isMembers, type Members, type ObjectSchema, type Schema, type Value } from './schema.ts';

/**
 * What the server stores of an object before it looks at it: unknown members and nulls are dropped, defaults
 * are put in. A value of another type than the schema's is left as it is.
 */
export function prepared(value: Value, schema: Schema): Value {
  if (schema.type === 'object') return isMembers(value) ? preparedMembers(value, schema) : value;
  if (schema.type !== 'array' || !isList(value)) return value;
  return value.map((item) => prepared(item, schema.items));
}

const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

function preparedMembers(members: Members, { properties }: ObjectSchema): Members {
  const kept = Object.entries(properties).flatMap(([name, schema]) => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    if (value !== undefined && value !== null) return [[name, prepared(value, schema)] as const];
    const byDefault = schema.type === 'string' ? schema.default : undefined;
    return byDefault === undefined ? [] : [[name, byDefault] as const];
  });
  return Object.fromEntries(kept);
}
