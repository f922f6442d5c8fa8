import { NEWEST_MINOR, type SpecMinor } from './version.ts';

/**
 * What a value of a config looks like, as data. One table of shapes (`schema.ts`) drives decoding,
 * merging, the search for duplicates and the walk of the validation.
 */
export type Shape = ScalarShape | ObjectShape | ListShape;

/** A string, an integer or a boolean. */
export interface ScalarShape {
  readonly kind: 'string' | 'integer' | 'boolean';
}

/** An object. Its name is the type in `types.ts`; validators are found by it. */
export interface ObjectShape {
  readonly kind: 'object';
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** Lists among the fields whose entries share one key space: a path is a file or a link, not both. */
  readonly sharedKeys: readonly string[];
}

/** A list, and how two of them are merged. */
export interface ListShape {
  readonly kind: 'list';
  readonly item: ScalarShape | ObjectShape;
  /**
   * `by-key`: entries with the same key merge, and a key twice is an error. `concatenate`: the child's
   * entries follow the parent's, duplicates are kept.
   */
  readonly merges: 'by-key' | 'concatenate';
  /** The key of an entry; a string is its own key. */
  readonly keyOf: (item: never) => string;
  /** An entry of the child without this field removes the parent's entry of the same key. */
  readonly removesWithout?: string;
}

/** A member of an object. */
interface Field {
  readonly shape: Shape;
  /** The first spec that has it; in older configs it is an unknown key. */
  readonly since: SpecMinor;
  /**
   * Through this spec the field has no null state: where it is absent it reads as `''` or 0, and in a
   * merge the child's value always counts. -1 for a field that may be absent in every spec.
   */
  readonly alwaysUntil: SpecMinor;
}

/** One field for every member of a type, so that a table cannot miss a member. */
type FieldsOf<T> = { readonly [K in keyof Required<T>]: Field };

/** A string. */
export const text: ScalarShape = { kind: 'string' };
/** An integer; a fraction or an exponent is refused, as Go's decoder does. */
export const integer: ScalarShape = { kind: 'integer' };
/** A boolean. */
export const flag: ScalarShape = { kind: 'boolean' };

/** A member that may be absent, from the given spec on. */
export const optional = (shape: Shape, since: SpecMinor = 0): Field => ({
  shape,
  since,
  alwaysUntil: -1,
});

/** A member without a null state, in every spec or through the given one. */
export const always = (shape: ScalarShape, until: SpecMinor = NEWEST_MINOR): Field => ({
  shape,
  since: 0,
  alwaysUntil: until,
});

/** An object shape; the type argument makes the table complete. */
export function object<T>(
  name: string,
  fields: FieldsOf<T>,
  sharedKeys: readonly (keyof T & string)[] = [],
): ObjectShape {
  return { kind: 'object', name, fields, sharedKeys };
}

/** A list of objects, merged by key. */
export const keyed = <T>(item: ObjectShape, keyOf: (item: T) => string): ListShape => ({
  kind: 'list',
  item,
  merges: 'by-key',
  keyOf,
});

/** A list of strings with the merge of a set: the union, the parent's order first. */
export const textSet: ListShape = {
  kind: 'list',
  item: text,
  merges: 'by-key',
  keyOf: (item: string) => item,
};

/** A list that is only ever lengthened by a merge. */
export const concatenated = (item: ScalarShape | ObjectShape): ListShape => ({
  kind: 'list',
  item,
  merges: 'concatenate',
  keyOf: () => '',
});

/** What a field without a null state reads as where it is absent. */
export function zeroOf(shape: Shape): string | number {
  return shape.kind === 'integer' ? 0 : '';
}
