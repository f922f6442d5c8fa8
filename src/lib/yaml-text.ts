import {
  Composer,
  CST,
  type Document,
  isScalar,
  type LineCounter,
  parseDocument,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  visit,
  YAMLParseError,
} from 'yaml';

/** How a YAML text is read. */
export interface YamlReading extends Pick<SchemaOptions, 'customTags'> {
  readonly version?: '1.1' | '1.2';
  readonly lineCounter?: LineCounter;
  /** Whether an alias may stand for what has an anchor. A text made by hand for us has no use for it. */
  readonly hasAliases?: boolean;
}

/** No object of a cluster, and no configuration, is nested as deeply. */
const deepest = 200;

/** Characters of the longest text that is read: an object of a cluster has at most 3 MiB. */
const longest = 16 * 1024 * 1024;

/**
 * The one document of a YAML text; another behind it is an error of this one.
 * @see parseYamlStream for what is an error
 */
export function parseYaml(text: string, reading: YamlReading = {}): Document.Parsed {
  const [document, second] = parseYamlStream(text, reading);
  if (document === undefined) return emptyDocument();
  if (second !== undefined)
    document.errors.push(errorAt(second.range[0], 'MULTIPLE_DOCS', 'one document is expected'));
  return document;
}

/**
 * The documents of a YAML text, read in a time that grows as the text does. What cannot be read is in `errors` of
 * its document, in the order of the text; the parser itself checks keys in quadratic time, and takes hours for
 * fifty explicit keys within each other.
 */
export function parseYamlStream(
  text: string,
  { hasAliases = false, lineCounter, ...rest }: YamlReading = {},
): readonly Document.Parsed[] {
  if (text.length > longest)
    return [refused(0, `a text of at most ${longest} characters is expected`)];
  const tokens = [...new Parser(lineCounter?.addNewLine).parse(text)];
  const refusal = tokens.map(structureFinding).find((finding) => finding !== undefined);
  if (refusal !== undefined) return [refused(refusal.offset, refusal.problem)];
  const options: ParseOptions & SchemaOptions = {
    ...rest,
    prettyErrors: false,
    uniqueKeys: false,
    ...(lineCounter === undefined ? {} : { lineCounter }),
  };
  const documents = [
    ...new Composer({ ...options, logLevel: 'error' }).compose(tokens),
  ] as Document.Parsed[];
  for (const document of documents) {
    document.errors.push(...contentErrors(document, hasAliases));
    document.errors.sort((one, other) => one.pos[0] - other.pos[0]);
  }
  return documents;
}

/** A finding with its place: characters from the start. */
interface Finding {
  readonly offset: number;
  readonly problem: string;
}

const TOO_DEEP = 'it is nested too deeply';
const BAD_KEY = 'a key must be a text, not a list or an object';

/** What the composer would take too long for: it calls itself, and reads an explicit key twice. */
function structureFinding(token: CST.Token): Finding | undefined {
  const left: { readonly token: CST.Token; readonly depth: number }[] = [{ token, depth: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { token: held, depth } = next;
    if (depth > deepest) return { offset: held.offset, problem: TOO_DEEP };
    const items = CST.isCollection(held) ? held.items : [];
    const key = items.map((item) => item.key ?? null).find((one) => CST.isCollection(one));
    if (key) return { offset: key.offset, problem: BAD_KEY };
    const below = held.type === 'document' ? [held.value] : items.map(({ value }) => value);
    for (const value of below) if (value) left.push({ token: value, depth: depth + 1 });
  }
  return undefined;
}

function contentErrors(document: Document.Parsed, hasAliases: boolean): readonly YAMLParseError[] {
  const errors: YAMLParseError[] = [];
  visit(document, {
    Alias: (_, { range }) => {
      if (!hasAliases)
        errors.push(
          errorAt(range?.[0] ?? 0, 'BAD_ALIAS', 'aliases are not taken: write the value out'),
        );
    },
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value))
          errors.push(errorAt(key.range?.[0] ?? 0, 'DUPLICATE_KEY', 'Map keys must be unique'));
        known.add(key.value);
      }
    },
  });
  return errors;
}

const errorAt = (offset: number, code: YAMLParseError['code'], message: string): YAMLParseError =>
  new YAMLParseError([offset, offset + 1], code, message);

/** A document that was not read, with the reason. */
function refused(offset: number, problem: string): Document.Parsed {
  const document = emptyDocument();
  document.errors.push(errorAt(offset, 'RESOURCE_EXHAUSTION', problem));
  return document;
}

const emptyDocument = (): Document.Parsed => parseDocument('');
