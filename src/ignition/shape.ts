import { NEWEST_MINOR, type SpecMinor } from './version.ts';

/**
 * What a value of a config looks like, as data. One table of shapes (`schema.ts`) drives decoding,
 * merging, the search for duplicates, the walk of the validation, and the types.
 */
export type Shape = ScalarShape | ObjectShape | ListShape;

/** A string, an integer or a boolean. */
export interface ScalarShape<K extends keyof Scalars = keyof Scalars> {
  readonly kind: K;
}

interface Scalars {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
}

/** An object. Validators are found by its name. */
export interface ObjectShape<F extends FieldTable = FieldTable> {
  readonly kind: 'object';
  readonly name: string;
  readonly fields: F;
  /**
   * Lists among the fields whose entries share one key space: a path is a file or a link, not both.
   */
  readonly sharedKeys: readonly string[];
}

/** The members of an object by name. */
export type FieldTable = Readonly<Record<string, Field>>;

/** A list, and how two of them are merged. */
export interface ListShape<I extends ScalarShape | ObjectShape = ScalarShape | ObjectShape> {
  readonly kind: 'list';
  readonly item: I;
  /**
   * `by-key`: entries with the same key merge, and a key twice is an error. `concatenate`: the
   * child's entries follow the parent's, duplicates are kept.
   */
  readonly merges: 'by-key' | 'concatenate';
  /** The key of an entry; a string is its own key. */
  readonly keyOf: (item: never) => string;
  /** An entry of the child without this field removes the parent's entry of the same key. */
  readonly removesWithout?: string;
}

/** A member of an object. */
interface Field<S extends Shape = Shape, R extends boolean = boolean> {
  readonly shape: S;
  /** The first spec that has it; in older configs it is an unknown key. */
  readonly since: SpecMinor;
  /**
   * Through this spec the field has no null state: where it is absent it reads as `''` or 0, and in
   * a merge the child's value always counts. -1 for a field that may be absent in every spec.
   */
  readonly alwaysUntil: SpecMinor;
  /** Whether the decoded object has it in every spec. */
  readonly isRequired: R;
}

/** A decoded value of a shape. */
export type ValueOf<S> =
  S extends ScalarShape<infer K>
    ? Scalars[K]
    : S extends ListShape<infer I>
      ? readonly ValueOf<I>[]
      : S extends ObjectShape<infer F>
        ? MembersOf<F>
        : never;

type RequiredIn<F extends FieldTable> = {
  [K in keyof F]: F[K]['isRequired'] extends true ? K : never;
}[keyof F];

/** One flat object type, which editors show as such. */
type MembersOf<F extends FieldTable> = {
  readonly [K in RequiredIn<F>]: ValueOf<F[K]['shape']>;
} & { readonly [K in Exclude<keyof F, RequiredIn<F>>]?: ValueOf<F[K]['shape']> };

/** A string. */
export const text: ScalarShape<'string'> = { kind: 'string' };
/** An integer; a fraction or an exponent is refused, as Go's decoder does. */
export const integer: ScalarShape<'integer'> = { kind: 'integer' };
/** A boolean. */
export const flag: ScalarShape<'boolean'> = { kind: 'boolean' };

/** A member that may be absent, from the given spec on. */
export const optional = <S extends Shape>(shape: S, since: SpecMinor = 0): Field<S, false> => ({
  shape,
  since,
  alwaysUntil: -1,
  isRequired: false,
});

/** A member without a null state through the given spec. */
export const always = <S extends ScalarShape>(shape: S, until: SpecMinor): Field<S, false> => ({
  shape,
  since: 0,
  alwaysUntil: until,
  isRequired: false,
});

/** A member without a null state in every spec. */
export const required = <S extends ScalarShape>(shape: S): Field<S, true> => ({
  shape,
  since: 0,
  alwaysUntil: NEWEST_MINOR,
  isRequired: true,
});

/** An object shape. */
export const object = <F extends FieldTable>(
  name: string,
  fields: F,
  sharedKeys: readonly (keyof F & string)[] = [],
): ObjectShape<F> => ({ kind: 'object', name, fields, sharedKeys });

/** A list of objects, merged by key. */
export const keyed = <F extends FieldTable>(
  item: ObjectShape<F>,
  keyOf: (item: ValueOf<ObjectShape<F>>) => string,
): ListShape<ObjectShape<F>> => ({ kind: 'list', item, merges: 'by-key', keyOf });

/** A list of strings with the merge of a set: the union, the parent's order first. */
export const textSet: ListShape<ScalarShape<'string'>> = {
  kind: 'list',
  item: text,
  merges: 'by-key',
  keyOf: (item: string) => item,
};

/** A list that is only ever lengthened by a merge. */
export const concatenated = <I extends ScalarShape | ObjectShape>(item: I): ListShape<I> => ({
  kind: 'list',
  item,
  merges: 'concatenate',
  keyOf: () => '',
});

/** What a field without a null state reads as where it is absent. */
export function zeroOf(shape: Shape): string | number {
  return shape.kind === 'integer' ? 0 : '';
}
