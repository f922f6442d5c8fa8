import { createHash } from 'node:crypto';
import { posix } from 'node:path';

/** The text of each file of the tree by its path from the top, with slashes. */
export type Sources = ReadonlyMap<string, string>;

/** A key for each file: as long as it is the same, so is everything that its rules can see. */
export type Keys = ReadonlyMap<string, string>;

/** A relative path in quotes. Each import is one, and the few that are none do no harm. */
const relativePath = /(['"`])(\.{1,2}\/[^'"`\n]+)\1/g;

/** A file that can change the types of others without being imported: TypeScript 6, "global modifying modules". */
const isAmbient = (path: string, text: string): boolean =>
  !path.endsWith('.json') &&
  (/\.d\.[cm]?ts$/.test(path) ||
    /\bdeclare\s+(global|module|namespace)\b/.test(text) ||
    !/^\s*(import|export)\b/m.test(text));

/**
 * Keys for rules that look at the text of a file and at which other files there are: they change
 * with the path, the text, and whether what the file imports is there.
 * @param basis What else a verdict depends on, as a short text: versions, options, rules.
 */
export function textKeys(sources: Sources, basis: string): Keys {
  return new Map(
    [...sources].map(([path, text]) => [
      path,
      digest([basis, path, text, ...importsOf(path, sources)]),
    ]),
  );
}

/**
 * Keys for rules that look at types: they change with the text of the file, of all that it imports,
 * of all that those import, and of the files that change types everywhere.
 * @param basis What else a verdict depends on, as a short text: versions, options, rules.
 */
export function closureKeys(sources: Sources, basis: string): Keys {
  const paths = [...sources.keys()].sort();
  const digests = new Map([...sources].map(([path, text]) => [path, digest([path, text])]));
  const imports = new Map(paths.map((path) => [path, importsOf(path, sources)]));
  const ambient = paths.filter((path) => isAmbient(path, sources.get(path) ?? ''));
  return new Map(
    paths.map((path) => {
      const reached = reach([path, ...ambient], imports);
      const parts = paths.filter((other) => reached.has(other)).map((other) => digests.get(other));
      return [path, digest([basis, path, ...parts])];
    }),
  );
}

function importsOf(path: string, sources: Sources): readonly string[] {
  const found = [...(sources.get(path) ?? '').matchAll(relativePath)].map(([, , name]) =>
    posix.join(posix.dirname(path), name ?? ''),
  );
  return [...new Set(found)].filter((name) => sources.has(name)).sort();
}

function reach(
  from: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set(from);
  // A set that grows while it is walked is walked to its end.
  for (const path of reached) for (const next of imports.get(path) ?? []) reached.add(next);
  return reached;
}

/** A short hash over texts, each apart from the next. */
export const digest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
