import { Buffer } from 'node:buffer';
import {
  Composer,
  CST,
  type Document,
  isCollection,
  isPair,
  isScalar,
  Lexer,
  type LineCounter,
  type Node,
  parseDocument,
  type ParseOptions,
  Parser,
  Scalar,
  type ScalarTag,
  type SchemaOptions,
  type Tags,
  visit,
  YAMLParseError,
} from 'yaml';

/** Options for reading YAML. */
export interface YamlReading {
  /** 1.1 with the extensions of Go's YAML, which Kubernetes uses to read objects. */
  readonly version?: '1.1' | '1.2';
  /** Removes tags of 1.1. */
  readonly filterTags?: (tags: Tags) => Tags;
  readonly lineCounter?: LineCounter;
  /** Whether aliases are allowed. Hand-written input of this program does not need them. */
  readonly hasAliases?: boolean;
}

/**
 * Maximum depth. No object of a cluster and no configuration is nested so deeply; the composer
 * recurses for each level.
 */
const deepest = 200;

/** Maximum length of a text in characters: an object of a cluster has at most 3 MiB. */
const longest = 16 * 1024 * 1024;

/**
 * Maximum number of tokens, and of values once aliases are followed: the parser needs about 1 KB
 * for each.
 */
const mostTokens = 200_000;

/** Maximum length that aliases may expand a shorter text to: that of an object of a cluster. */
const mostExpanded = 3 * 1024 * 1024;

/**
 * The only document of a YAML text; a second document is an error of the first.
 * @see parseYamlStream about errors
 */
export function parseYaml(text: string, reading: YamlReading = {}): Document.Parsed {
  const [document, second] = parseYamlStream(text, reading);
  if (document === undefined) return emptyDocument();
  if (second !== undefined)
    document.errors.push(errorAt(second.range[0], 'MULTIPLE_DOCS', 'one document is expected'));
  return document;
}

/** The value of a YAML text with one document; undefined if it cannot be read. */
export function yamlIn(text: string): unknown {
  const document = parseYaml(text);
  return document.errors.length === 0 ? document.toJS() : undefined;
}

/**
 * The documents of a YAML text, read in linear time. Errors are in `errors` of their document, in
 * the order of the text. The parser alone checks keys in quadratic time, and would take hours for
 * fifty nested explicit keys.
 */
export function parseYamlStream(
  text: string,
  { hasAliases = false, lineCounter, filterTags = (all) => all, ...rest }: YamlReading = {},
): readonly Document.Parsed[] {
  if (text.length > longest)
    return [refused({ offset: 0, problem: `a text of at most ${longest} characters is expected` })];
  const tokens = tokensOf(text, lineCounter);
  if (!Array.isArray(tokens)) return [refused(tokens)];
  const options: ParseOptions & SchemaOptions = {
    ...rest,
    prettyErrors: false,
    uniqueKeys: false,
    ...(rest.version === '1.1' ? { customTags: (all) => asGo(filterTags(all)) } : {}),
    ...(lineCounter === undefined ? {} : { lineCounter }),
  };
  return withShortStacks(() => {
    const documents = [
      ...new Composer({ ...options, logLevel: 'error' }).compose(tokens),
    ] as Document.Parsed[];
    for (const document of documents) {
      // The text after the colon comes from the input, and may be anything.
      for (const error of document.errors)
        error.message = error.message.replace(/(?<=\w): .*$/s, '');
      document.errors.push(...contentErrors(document, hasAliases, text.length));
      const { yaml } = document.directives;
      if (rest.version === '1.1' && yaml.version !== '1.1')
        document.errors.push(
          errorAt(0, 'BAD_DIRECTIVE', `Kubernetes reads YAML 1.1: remove %YAML ${yaml.version}`),
        );
      document.errors.sort((one, other) => one.pos[0] - other.pos[0]);
    }
    return documents;
  });
}

/** Integers that go-yaml reads in addition to YAML 1.1 (go-yaml 2.4, `resolve.go`). */
const goInteger: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0(?:[oO][0-7_]*[0-7]|B[01_]*[01]|X[\da-fA-F_]*[\da-fA-F])$/,
  resolve: (text) => {
    const size = Number(text.replaceAll(/[-+_]/g, ''));
    return text.startsWith('-') ? -size : size;
  },
};

/** Go reads it as a string. As bytes, each would become a member of an object in JSON. */
const goBinary: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  resolve: (text) => Buffer.from(text, 'base64').toString(),
};

/** YAML 1.1 reads `.` and `e1` as numbers, and Go's reader refuses numbers that are too large. */
const isGoFloat = (text: string): boolean =>
  /^[-+]?\.?\d/.test(text) && Number.isFinite(Number.parseFloat(text.replaceAll('_', '')));

const asGo = (all: Tags): Tags => [
  goInteger,
  ...all.flatMap((tag) => {
    if (typeof tag === 'string') return tag;
    // Go reads times as strings, also base-60 numbers.
    if (tag.format === 'TIME' || tag.tag.endsWith(':timestamp')) return [];
    if (tag.tag.endsWith(':binary')) return goBinary;
    return tag.tag.endsWith(':float') ? floatAsGo(tag as ScalarTag) : tag;
  }),
];

const floatAsGo = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  resolve: (text, ...rest) => (isGoFloat(text) ? tag.resolve(text, ...rest) : text),
});

/**
 * A text may have an error for each character, and their stack traces would take most of the
 * memory.
 */
function withShortStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A finding with its offset in characters. */
interface Finding {
  readonly offset: number;
  readonly problem: string;
}

const TOO_DEEP = 'it is nested too deeply';
const TOO_MUCH = `it has more than ${mostTokens} words and signs`;
const BAD_KEY = 'a key must be a text, not empty, a list or an object';

/** The documents as tokens, or a finding at the place where reading exceeds a limit. */
function tokensOf(text: string, lines: LineCounter | undefined): CST.Token[] | Finding {
  const parser = new Parser(lines?.addNewLine);
  lines?.addNewLine(0);
  const tokens: CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > mostTokens) return { offset: parser.offset, problem: TOO_MUCH };
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > deepest + 2) return { offset: parser.offset, problem: TOO_DEEP };
  }
  tokens.push(...parser.end());
  return tokens.map(keyFinding).find((finding) => finding !== undefined) ?? tokens;
}

/** A key that would take the composer too long: it reads an explicit key twice. */
function keyFinding(token: CST.Token): Finding | undefined {
  const left: CST.Token[] = [token];
  for (let held = left.pop(); held !== undefined; held = left.pop()) {
    const items = CST.isCollection(held) ? held.items : [];
    const key = items.map((item) => item.key ?? null).find((one) => CST.isCollection(one));
    if (key) return { offset: key.offset, problem: BAD_KEY };
    const below = held.type === 'document' ? [held.value] : items.map(({ value }) => value);
    for (const value of below) if (value) left.push(value);
  }
  return undefined;
}

/**
 * Errors of keys and aliases. Replaces a refused alias by null, so that no later reader follows it.
 * @param length of the whole text
 */
function contentErrors(
  document: Document.Parsed,
  hasAliases: boolean,
  length: number,
): readonly YAMLParseError[] {
  const errors: YAMLParseError[] = [];
  const anchors = new Map<string, Node>();
  const values = sumOf(() => 1);
  const characters = sumOf((node) => (isScalar(node) ? String(node.value).length : 0));
  const withAnchor = (_: unknown, node: Node): void => {
    if ('anchor' in node && node.anchor) anchors.set(node.anchor, node);
  };
  visit(document, {
    Alias: (_, alias, path) => {
      const target = anchors.get(alias.source);
      const problem = hasAliases
        ? aliasProblem(target, path)
        : 'aliases are not taken: write the value out';
      if (problem === undefined) {
        values.follow(alias, target);
        characters.follow(alias, target);
        return undefined;
      }
      errors.push(errorAt(alias.range?.[0] ?? 0, 'BAD_ALIAS', problem));
      return new Scalar(null);
    },
    Scalar: withAnchor,
    Seq: withAnchor,
    Map: (key, node) => {
      withAnchor(key, node);
      const known = new Set<unknown>();
      for (const { key: name } of node.items) {
        if (!isScalar(name)) continue;
        // The parser also reads an empty key if a colon begins a line that is deeper than its
        // object.
        if (name.value === null)
          errors.push(errorAt(name.range?.[0] ?? 0, 'NON_STRING_KEY', BAD_KEY));
        if (known.has(name.value))
          errors.push(errorAt(name.range?.[0] ?? 0, 'DUPLICATE_KEY', 'Map keys must be unique'));
        known.add(name.value);
      }
    },
  });
  const isTooMany = values.in(document.contents) > mostTokens;
  if (isTooMany || characters.in(document.contents) > Math.max(length, mostExpanded)) {
    const what = isTooMany ? 'too many values' : 'too much text';
    errors.push(errorAt(0, 'RESOURCE_EXHAUSTION', `its aliases stand for ${what}`));
    document.contents = null;
  }
  return errors;
}

const aliasProblem = (target: Node | undefined, path: readonly unknown[]): string | undefined => {
  if (target === undefined) return 'the alias has no anchor before it';
  return path.includes(target) ? 'the alias contains itself' : undefined;
};

/** Sums a size of nodes with aliases followed; an alias comes after its anchor. */
function sumOf(sizeOf: (node: unknown) => number) {
  const known = new Map<unknown, number>();
  const sumIn = (node: unknown): number => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const pair = isPair(node) ? [node.key, node.value] : [];
    const below: readonly unknown[] = isCollection(node) ? node.items : pair;
    const sum = below.reduce<number>((total, one) => total + sumIn(one), sizeOf(node));
    known.set(node, sum);
    return sum;
  };
  const follow = (alias: Node, target: Node | undefined): void => {
    known.set(alias, sumIn(target));
  };
  return { in: sumIn, follow };
}

const errorAt = (offset: number, code: YAMLParseError['code'], message: string): YAMLParseError =>
  new YAMLParseError([offset, offset + 1], code, message);

/** An empty document with the reason why the text was not read. */
function refused({ offset, problem }: Finding): Document.Parsed {
  const document = emptyDocument();
  document.errors.push(errorAt(offset, 'RESOURCE_EXHAUSTION', problem));
  return document;
}

const emptyDocument = (): Document.Parsed => parseDocument('');
