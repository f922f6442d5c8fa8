import { quotedWords, withoutQuotes } from './words.ts';

/** An instruction of a Containerfile, with its continuation lines and here-documents. */
export interface Instruction {
  /** In upper case: `RUN`, `COPY`. */
  readonly keyword: string;
  /** What follows, continuation lines joined as the builder joins them. */
  readonly text: string;
  /** Bodies of here-documents, in their order. */
  readonly bodies: readonly string[];
  /** The word that a here-document waits for in vain. */
  readonly unterminated?: string;
  /** From 1. */
  readonly line: number;
}

const DIRECTIVE = /^#\s*(?<name>[a-z]+)\s*=\s*(?<value>\S+)\s*$/i;
/** Only a word by itself begins a here-document; `<<<` is something else of the shell. */
const HEREDOC = /^\d*<<(?<dash>-?)(?<word>[^<]+)$/;
/** Instructions that may have here-documents. */
const WITH_BODIES: ReadonlySet<string> = new Set(['RUN', 'COPY', 'ADD']);

/** Splits a Containerfile into its instructions. Comments and empty lines are left out. */
export function parseContainerfile(content: string): readonly Instruction[] {
  const lines = content.split(/\r?\n/);
  const escape = escapeOf(lines);
  const instructions: Instruction[] = [];
  let index = 0;
  while (index < lines.length) {
    const first = lines[index] ?? '';
    if (isSkipped(first)) {
      index += 1;
      continue;
    }
    const { text, next } = joined(lines, index, escape);
    const [keyword = '', rest = ''] = splitOnce(text.trim());
    const isTaken = WITH_BODIES.has(keyword.toUpperCase());
    const { after, ...documents } = heredocs(lines, next, isTaken ? rest : '');
    instructions.push({
      keyword: keyword.toUpperCase(),
      text: rest,
      ...documents,
      line: index + 1,
    });
    index = after;
  }
  return instructions;
}

const isSkipped = (line: string): boolean => /^\s*(?:#|$)/.test(line);

/** The character that continues a line; a directive at the top may change it. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const groups = DIRECTIVE.exec(line)?.groups;
    if (groups === undefined) break;
    if (groups['name']?.toLowerCase() === 'escape' && groups['value'] === '`') return '`';
  }
  return '\\';
}

function joined(
  lines: readonly string[],
  start: number,
  escape: string,
): { readonly text: string; readonly next: number } {
  const parts: string[] = [];
  let index = start;
  for (; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    // Comments and empty lines may stand between continuation lines.
    if (index > start && isSkipped(line)) continue;
    const trimmed = line.trimEnd();
    if (!trimmed.endsWith(escape)) {
      parts.push(trimmed);
      index += 1;
      break;
    }
    parts.push(trimmed.slice(0, -1));
  }
  return { text: parts.join(''), next: index };
}

interface HereDocuments extends Pick<Instruction, 'bodies' | 'unterminated'> {
  /** The line behind them. */
  readonly after: number;
}

function heredocs(lines: readonly string[], start: number, text: string): HereDocuments {
  const bodies: string[] = [];
  let index = start;
  for (const { word, isIndented } of hereWords(text)) {
    const body: string[] = [];
    const isEnd = (line: string): boolean =>
      (isIndented ? line.replace(/^\t+/, '') : line) === word;
    while (index < lines.length && !isEnd(lines[index] ?? '')) {
      body.push(lines[index] ?? '');
      index += 1;
    }
    bodies.push(body.join('\n'));
    if (index >= lines.length) return { bodies, unterminated: word, after: index };
    index += 1;
  }
  return { bodies, after: index };
}

function hereWords(
  text: string,
): readonly { readonly word: string; readonly isIndented: boolean }[] {
  return quotedWords(text).flatMap((raw) => {
    const groups = HEREDOC.exec(raw)?.groups;
    const word = groups === undefined ? '' : withoutQuotes(groups['word'] ?? '');
    return word === '' ? [] : [{ word, isIndented: groups?.['dash'] === '-' }];
  });
}

const splitOnce = (text: string): readonly string[] => {
  const [, first = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  return [first, rest];
};
