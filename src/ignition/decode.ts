import { nearestName } from '../lib/nearest.ts';
import { finding, memberPath, type Finding, type FindingRule } from './finding.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import { zeroOf, type ListShape, type ObjectShape, type ScalarShape, type Shape } from './shape.ts';
import type { SpecMinor } from './version.ts';

/** A decoded value: the right types, the right keys, no nulls. */
export type Decoded = string | number | boolean | DecodedObject | readonly Decoded[];
/** A decoded object. */
export interface DecodedObject {
  readonly [key: string]: Decoded;
}

/** The options of decoding one config. */
interface DecodeOptions {
  readonly minor: SpecMinor;
  /** Paths of numbers written as fractions, from `scanJson`. */
  readonly fractions: ReadonlySet<string>;
}

/** The key of an object that stands for a field, as Go's decoder matches them. */
export function foldKey(key: string): string {
  // U+017F is the one other letter that folds to an ASCII letter and that toLowerCase leaves alone.
  return key.toLowerCase().replaceAll('\u017f', 's');
}

/**
 * Turns JSON into a value of a shape, the way Go's decoder fills a struct: null is absent, an exact
 * key is preferred but any case is taken, unknown keys are left out. Findings are collected, not
 * thrown. A value of the wrong type is left out of the result and reported as an error.
 */
export class Decoder {
  readonly findings: Finding[] = [];
  readonly #options: DecodeOptions;

  constructor(options: DecodeOptions) {
    this.#options = options;
  }

  /** Decodes an object over the value of an earlier key of the same meaning. */
  object(
    shape: ObjectShape,
    value: JsonObject,
    place: { readonly path: string; readonly over?: DecodedObject },
  ): DecodedObject {
    const result: Record<string, Decoded> = { ...this.#zeros(shape), ...place.over };
    for (const [key, member] of Object.entries(value)) {
      const path = memberPath(place.path, key);
      const name = this.#fieldName(shape, key, path);
      const field = name === undefined ? undefined : shape.fields[name];
      if (name === undefined || field === undefined) continue;
      const over = result[name];
      const decoded =
        member === null ? undefined : this.#value(field.shape, member, { path, over });
      if (decoded !== undefined) result[name] = decoded;
      // Null removes the value of a key in another case, unless the field has no null state.
      else if (field.shape.kind !== 'object') this.#clear(result, shape, name);
    }
    return result;
  }

  #clear(result: Record<string, Decoded>, shape: ObjectShape, name: string): void {
    const isNullable = (shape.fields[name]?.alwaysUntil ?? -1) < this.#options.minor;
    if (isNullable) Reflect.deleteProperty(result, name);
  }

  #zeros(shape: ObjectShape): Record<string, Decoded> {
    const zeros: Record<string, Decoded> = {};
    for (const [name, field] of Object.entries(shape.fields)) {
      if (field.alwaysUntil >= this.#options.minor) zeros[name] = zeroOf(field.shape);
    }
    return zeros;
  }

  #fieldName(shape: ObjectShape, key: string, path: string): string | undefined {
    const known = Object.keys(shape.fields).filter((name) => this.#isKnown(shape, name));
    if (known.includes(key)) return key;
    const folded = known.find((name) => foldKey(name) === foldKey(key));
    if (folded !== undefined) {
      this.#report('wrong-case-key', path, `use ${folded}`);
      return folded;
    }
    this.#report('unknown-key', path, this.#adviceFor(shape, key, known));
    return undefined;
  }

  #adviceFor(shape: ObjectShape, key: string, known: readonly string[]): string {
    const newer = Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined;
    if (newer !== undefined) return `it came with spec 3.${newer.since}.0`;
    const near = nearestName(key, known);
    return near === undefined ? '' : `is ${near} meant`;
  }

  #isKnown(shape: ObjectShape, name: string): boolean {
    return (shape.fields[name]?.since ?? Infinity) <= this.#options.minor;
  }

  #value(
    shape: Shape,
    value: JsonValue,
    place: { readonly path: string; readonly over?: Decoded | undefined },
  ): Decoded | undefined {
    const { path } = place;
    if (shape.kind === 'object') {
      if (!isJsonObject(value)) return this.#wrongType(path, 'an object is expected');
      return this.object(shape, value, { path, over: (place.over ?? {}) as DecodedObject });
    }
    if (shape.kind === 'list') {
      if (!Array.isArray(value)) return this.#wrongType(path, 'a list is expected');
      return this.#list(shape, value as readonly JsonValue[], path);
    }
    return this.#scalar(shape, value, path);
  }

  #list(shape: ListShape, values: readonly JsonValue[], path: string): Decoded {
    const { item } = shape;
    return values.map((value, index) => {
      const place = { path: memberPath(path, index) };
      const decoded = value === null ? undefined : this.#value(item, value, place);
      // Go leaves the zero value where an entry is null; of a newer spec an entry may have another
      // type.
      return decoded ?? (item.kind === 'object' ? this.object(item, {}, place) : zeroOf(item));
    });
  }

  #scalar(shape: ScalarShape, value: JsonValue, path: string): Decoded | undefined {
    if (shape.kind === 'boolean') {
      return typeof value === 'boolean'
        ? value
        : this.#wrongType(path, 'true or false is expected');
    }
    if (shape.kind === 'string') {
      if (typeof value !== 'string') return this.#wrongType(path, 'a string is expected');
      return value.toWellFormed();
    }
    const isInteger = Number.isSafeInteger(value) && !this.#options.fractions.has(path);
    // Adding 0 turns -0 into 0.
    return isInteger ? (value as number) + 0 : this.#wrongType(path, 'an integer is expected');
  }

  #wrongType(path: string, detail: string): Decoded | undefined {
    this.#report('wrong-type', path, detail);
    return undefined;
  }

  #report(rule: FindingRule, path: string, detail: string): void {
    this.findings.push(finding(rule, path, detail));
  }
}

/** The key under which an entry of a list is known. */
export function keyOfEntry(shape: ListShape, entry: Decoded): string {
  return shape.keyOf(entry as never);
}
