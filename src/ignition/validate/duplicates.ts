import type { Decoded, DecodedObject } from '../decode.ts';
import type { ListShape, ObjectShape } from '../shape.ts';
import type { Place } from './place.ts';

/** The key under which an entry of a list is known. */
export function keyOfEntry(shape: ListShape, entry: Decoded): string {
  return shape.keyOf(entry as never);
}

/** No two entries of a list with keys, or of lists that share their keys, may have the same key. */
export function validateDuplicates(shape: ObjectShape, value: DecodedObject, place: Place): void {
  const shared = new Set<string>();
  for (const [name, field] of Object.entries(shape.fields)) {
    const list = value[name];
    if (field.shape.kind !== 'list' || field.shape.merges !== 'by-key') continue;
    const seen = shape.sharedKeys.includes(name) ? shared : new Set<string>();
    for (const [index, entry] of ((list ?? []) as readonly Decoded[]).entries()) {
      const key = keyOfEntry(field.shape, entry);
      if (seen.has(key)) place.at(name, index).report('duplicate-entry');
      seen.add(key);
    }
  }
}
