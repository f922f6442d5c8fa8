import { isMembers, type Members, type Value } from '../schema/schema.ts';
import { readObjects, type SourceFile, type SourceObject } from '../source-object.ts';

/** One object of a manifest file, with the text that it stands in. */
export interface ManifestDocument {
  /** The text from behind one `---` to before the next. */
  readonly text: string;
  readonly object: SourceObject;
}

/** A document begins at a line of `---`, whatever stands around it; no block of text reaches column 0. */
const SEPARATOR = /^---(?=\s|$)/m;

/**
 * The objects of a file. Places name the lines of the file.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export const documentsOf = (file: SourceFile): readonly ManifestDocument[] =>
  pieces(file.text).flatMap(({ text, line }) =>
    readObjects({ path: file.path, text: '\n'.repeat(line) + text }).map((object) => ({
      text,
      object,
    })),
  );

/**
 * A file without some of its objects: the others stand in it as they stood. Empty when none is left.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function withoutDocuments(
  file: SourceFile,
  isUnwanted: (object: SourceObject) => boolean,
): string {
  const wanted = documentsOf(file).filter(({ object }) => !isUnwanted(object));
  return wanted
    .map(({ text }) => text)
    .join('---')
    .replace(/^\s*\n/, '');
}

function pieces(text: string): readonly { readonly text: string; readonly line: number }[] {
  let line = 0;
  return text.split(SEPARATOR).map((piece) => {
    const at = line;
    line += piece.split('\n').length - 1;
    return { text: piece, line: at };
  });
}

/** The name and the namespace of an object; empty where it says none. */
export function namesOf({ metadata }: Members): {
  readonly name: string;
  readonly namespace: string;
} {
  const of = (member: string): string => {
    const value: Value | undefined = isMembers(metadata) ? metadata[member] : undefined;
    return typeof value === 'string' ? value : '';
  };
  return { name: of('name'), namespace: of('namespace') };
}
