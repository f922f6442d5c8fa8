import { isMembers, type Members, type Value } from './schema/schema.ts';
import { isFlaw, type SourceFlaw, wrongObject } from './source-flaw.ts';
import { readDocuments, type SourceObject } from './source-object.ts';
import type { SourceFile } from './source-text.ts';

/**
 * The objects of a file, also those that stand in a List as `oc get -o yaml` prints one, and what of it cannot be
 * read.
 * @param wanted what the file should hold, for the messages
 */
export const readListed = (
  file: SourceFile,
  wanted: string,
): readonly (SourceObject | SourceFlaw)[] =>
  readDocuments(file, wanted).flatMap((read) => (isFlaw(read) ? [read] : unfolded(read, wanted)));

function unfolded(source: SourceObject, wanted: string): readonly (SourceObject | SourceFlaw)[] {
  const items = itemsOf(source.value);
  if (items === undefined) return [source];
  if (items.length === 0) {
    return [wrongObject(source.place(['items']), `${wanted} is expected, and this List is empty`)];
  }
  return items.flatMap((item, index) => {
    const at = ['items', index] as const;
    if (!isMembers(item)) {
      const problem = `${wanted} is expected, and this entry of the List is no object`;
      return [wrongObject(source.place(at), problem)];
    }
    return unfolded(
      {
        value: item,
        place: (path) => source.place([...at, ...path]),
        placeInText: (path, line) => source.placeInText([...at, ...path], line),
      },
      wanted,
    );
  });
}

/** What stands in a List; nothing is known of an object that is none. */
export function itemsOf({ kind, items }: Members): readonly Value[] | undefined {
  const isList = typeof kind === 'string' && kind.endsWith('List');
  return isList && Array.isArray(items) ? (items as readonly Value[]) : undefined;
}
