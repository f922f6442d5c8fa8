// Finds words that the glossary retires: node scripts/lint/words.ts [--check] [PATH...]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { parse } from 'yaml';

/** Replacements by retired word. */
type Retired = Readonly<Record<string, string>>;

const retired = parse(readFileSync(join(import.meta.dirname, 'retired-words.yaml'), 'utf8')) as {
  readonly words: Retired;
  readonly names: Retired;
  readonly phrases: Retired;
  readonly allowed: readonly string[];
};

/** A retired word, where it is and what to write. */
export interface WordFinding {
  readonly line: number;
  readonly word: string;
  readonly write: string;
  /** The line or name that has the word. */
  readonly text: string;
}

/** The words of an identifier or a file name, in lower case. */
const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase();

const wordPattern = patternOf(Object.keys(retired.words));
const phrasePattern = patternOf([...Object.keys(retired.phrases), ...retired.allowed]);

/** Longer entries come first, so that a compound is named before a word in it. */
function patternOf(words: readonly string[]): RegExp {
  const entries = words.toSorted((one, other) => other.length - one.length);
  return new RegExp(`(?<![\\w-])(?:${entries.join('|')})(?![\\w-])`, 'gi');
}

function findingsInName(name: string, line: number): readonly WordFinding[] {
  if (Object.hasOwn(retired.names, name))
    return [{ line, word: name, write: retired.names[name] ?? '', text: name }];
  return [...wordsOf(name).matchAll(wordPattern)].map(([word]) => ({
    line,
    word,
    write: retired.words[word] ?? '',
    text: name,
  }));
}

/** Retired phrases in a text that begins at a line. */
export function findingsInText(text: string, line = 1): readonly WordFinding[] {
  return text.split('\n').flatMap((each, index) =>
    [...each.matchAll(phrasePattern)].flatMap(([found]) => {
      const word = found.toLowerCase();
      const write = retired.phrases[word];
      return write === undefined ? [] : [{ line: line + index, word, write, text: each.trim() }];
    }),
  );
}

/**
 * Retired words in a source: in its identifiers, once each, in its comments, and in its literals
 * where they are searched.
 */
export function findingsInSource(
  path: string,
  code: string,
  hasLiterals: boolean,
): readonly WordFinding[] {
  const { program, comments } = parseSync(path, code);
  const names = new Map<string, number>();
  const texts = comments.map(({ value, start }) => ({ text: value, start }));
  const addName = ({ name, start }: { readonly name: string; readonly start: number }): void => {
    if (!names.has(name)) names.set(name, start);
  };
  new Visitor({
    Identifier: addName,
    PrivateIdentifier: addName,
    Literal: ({ value, start }) => {
      if (hasLiterals && typeof value === 'string' && value.includes(' '))
        texts.push({ text: value, start });
    },
    TemplateElement: ({ value, start }) => {
      if (hasLiterals) texts.push({ text: value.raw, start });
    },
  }).visit(program);
  const lineAt = (start: number): number => code.slice(0, start).split('\n').length;
  return [
    ...[...names].flatMap(([name, start]) => findingsInName(name, lineAt(start))),
    ...texts.flatMap(({ text, start }) => findingsInText(text, lineAt(start))),
  ].sort((one, other) => one.line - other.line);
}

/** Pages that `npm run docs` writes say what the sources say. */
const written = /^docs\/(adr\/|configuration\.|errors\.|plans\.)/;
const document = /^(README\.md|(scripts\/)?docs\/.*\.md)$/;
const source = /^(src|mocks|scripts|test)\/.*\.ts$/;

function findingsIn(path: string): readonly WordFinding[] {
  if (written.test(path)) return [];
  const isSource = source.test(path);
  if (!isSource && !document.test(path)) return [];
  const text = readFileSync(path, 'utf8');
  const literals = !path.startsWith('test/') && !path.endsWith('.test.ts');
  const inName = isSource ? findingsInName(basename(path, '.ts'), 1) : [];
  const inside = isSource ? findingsInSource(path, text, literals) : findingsInText(text);
  return [...inName, ...inside];
}

/** Prints each finding and their number; with `--check`, fails on them. */
function main(args: readonly string[]): number {
  const named = args.filter((arg) => !arg.startsWith('-'));
  const argv = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...named];
  const paths = [...new Set(execFileSync('git', argv, { encoding: 'utf8' }).split('\0'))];
  const lines = paths
    .filter((path) => existsSync(path))
    .sort()
    .flatMap((path) =>
      findingsIn(path).map(
        ({ line, word, write, text }) => `${path}:${line}: ${word} -> ${write}: ${text}`,
      ),
    );
  process.stdout.write(
    [...lines, `${lines.length} retired words`].map((line) => `${line}\n`).join(''),
  );
  return args.includes('--check') && lines.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
