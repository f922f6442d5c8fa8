import { nearestName } from '../../lib/nearest.ts';
import type { DefinedKind } from './check-object.ts';
import { objectMeta } from './object-meta.ts';
import { isMembers, type Members, type ObjectSchema, type Schema, type Value } from './schema.ts';

/** A member that the definition of a kind does not have: the server drops it, or refuses it if it is told to. */
export interface UnknownMember {
  readonly segments: readonly (string | number)[];
  /** In the words of a server that is told to refuse it. */
  readonly message: string;
  /** The name that was meant, most likely. */
  readonly nearest: string | undefined;
}

/** The members of an object, its metadata and its status included, that nothing reads. */
export const unknownMembers = (object: Members, kind: DefinedKind): readonly UnknownMember[] =>
  unknownBelow(object, wholeSchema(kind), []);

const wholeSchema = ({ schema, status }: DefinedKind): ObjectSchema => ({
  ...schema,
  properties: { ...schema.properties, metadata: objectMeta, status },
});

function unknownBelow(
  value: Value,
  schema: Schema,
  segments: readonly (string | number)[],
): readonly UnknownMember[] {
  if (schema.type === 'array' && Array.isArray(value)) {
    return (value as readonly Value[]).flatMap((item, index) =>
      unknownBelow(item, schema.items, [...segments, index]),
    );
  }
  if (schema.type !== 'object' || !isMembers(value)) return [];
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
