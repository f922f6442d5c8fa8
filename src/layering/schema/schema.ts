/** Any value of a document. */
export type Value =
  string | number | boolean | null | readonly Value[] | { readonly [member: string]: Value };

/** An object of a document. */
export type Members = Readonly<Record<string, Value>>;

/** Whether a value is an object. */
export const isMembers = (value: Value | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A rule of a CRD's `x-kubernetes-validations`, in the words that the server answers with. A rule with
 * `needsOld` is one of a transition: it is asked only where there was a value before.
 */
export interface Rule<T> {
  readonly message: string;
  readonly needsOld?: true;
  readonly holds: (value: T, old: T | undefined) => boolean;
}

/** A string of the schema. Lengths are in code points, although the server speaks of bytes. */
export interface TextSchema {
  readonly type: 'string';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  /** As it stands in the definition; it is quoted in the answer. */
  readonly pattern?: string;
  readonly isDateTime?: true;
  /** Used where the member is absent or null. */
  readonly default?: string;
  readonly rules?: readonly Rule<string>[];
}

/** A whole number. */
export interface IntegerSchema {
  readonly type: 'integer';
  readonly minimum?: number;
  readonly rules?: readonly Rule<number>[];
}

/** A list whose entries are told apart by some of their members. */
export interface ListSchema {
  readonly type: 'array';
  readonly maxItems?: number;
  readonly mapKeys: readonly string[];
  readonly items: ObjectSchema;
  readonly rules?: readonly Rule<readonly Value[]>[];
}

/** An object; members that are not named are dropped by the server. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly rules?: readonly Rule<Members>[];
}

/** A node of the schema of a CRD: what of OpenAPI these definitions use. `any` is looked at elsewhere. */
export type Schema =
  TextSchema | IntegerSchema | ListSchema | ObjectSchema | { readonly type: 'any' };
