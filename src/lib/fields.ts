/** Any value of a document. */
export type Value =
  string | number | boolean | null | readonly Value[] | { readonly [member: string]: Value };

/** An object of a document. */
export type Fields = Readonly<Record<string, Value>>;

/** Whether a value is an object. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of an object; an empty object for any other value. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The entries of a list; an empty list for any other value. */
export const listOf = (value: unknown): readonly Value[] => (isList(value) ? value : []);

/** A text; the empty text for any other value. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Whether a value is a list. */
export const isList = (value: unknown): value is readonly Value[] => Array.isArray(value);

/** The members of an object that are text. */
export const textsIn = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fieldsOf(value)).flatMap(([key, text]) =>
      typeof text === 'string' ? [[key, text] as const] : [],
    ),
  );
