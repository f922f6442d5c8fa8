import type { AgentError } from '../../model/failure.ts';
import { layeringFailure } from '../failures.ts';
import { jsonIn } from '../../lib/json.ts';

/** Why a file, or one of its documents, cannot be read. */
export interface SourceFinding {
  readonly code: 'layering.malformed-file' | 'layering.wrong-object';
  /** `FILE:LINE`. */
  readonly place: string;
  /** What is wrong there, and what to do about it. */
  readonly problem: string;
}

/** A text, or a part of it, that no parser can make sense of. */
export const malformed = (place: string, problem: string): SourceFinding => ({
  code: 'layering.malformed-file',
  place,
  problem,
});

/** Another object than the expected one. */
export const wrongObject = (place: string, problem: string): SourceFinding => ({
  code: 'layering.wrong-object',
  place,
  problem,
});

/** Whether reading gave a finding and not an object. */
export const isSourceFinding = (read: object): read is SourceFinding =>
  'problem' in read && 'place' in read;

/** The finding as an error, for callers that need the whole file. */
export const sourceFailure = ({ code, place, problem }: SourceFinding): AgentError =>
  layeringFailure(code, `${place}: ${problem}`);

/** A text that was read. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const LINE_FEED = 0x0a;

/**
 * The text of a file, or the line that is no UTF-8. A byte order mark at its start is left out.
 * @param wanted what the file should hold, for the message
 */
export function decodeSource(
  path: string,
  bytes: Uint8Array,
  wanted = 'a text',
): SourceFile | SourceFinding {
  if (bytes.includes(0)) {
    const problem = `${wanted} is expected, in UTF-8, and this file is binary`;
    return malformed(`${path}:1`, problem);
  }
  const text = decoded(bytes);
  if (text !== undefined) return { path, text };
  const line = firstBrokenLine(bytes);
  return malformed(`${path}:${line}`, 'this line is not UTF-8: save the file as UTF-8');
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * No character of several bytes has a line feed among them, so that each line can be decoded by
 * itself.
 */
function firstBrokenLine(bytes: Uint8Array): number {
  let start = 0;
  for (let line = 1; ; line += 1) {
    const end = bytes.indexOf(LINE_FEED, start);
    if (end < 0 || decoded(bytes.subarray(start, end)) === undefined) return line;
    start = end + 1;
  }
}

/** What Go's YAML takes for the end of a line, and reads as a line feed: also by themselves. */
const LINE_BREAK = /\r\n|[\r\u0085]/g;

/** Characters that Go's YAML refuses, and two more line breaks of its own that no editor shows. */
const FORBIDDEN =
  // oxlint-disable-next-line no-control-regex -- YAML wants them escaped
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\u2028\u2029\ufffe\uffff]/;

/** Characters that JSON allows in its strings, and that mean something else to YAML. */
const ODD_IN_JSON = /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g;

/**
 * The text as Go's YAML would take it, its line breaks as line feeds; or the line with a character
 * that it takes nowhere. In JSON, which knows other line breaks, such characters are written as
 * escapes.
 */
export function yamlText({ path, text }: SourceFile): string | SourceFinding {
  const plain = isJson(text) ? text.replaceAll(ODD_IN_JSON, escapeOf) : text;
  const lines = plain.replaceAll(LINE_BREAK, '\n');
  const found = FORBIDDEN.exec(lines);
  if (found === null) return lines;
  const line = lines.slice(0, found.index).split('\n').length;
  const problem = `the character U+${digitsOf(found[0]).toUpperCase()} is not allowed in YAML unescaped`;
  const advice = `remove it, or write it as ${escapeOf(found[0])} in double quotes`;
  return malformed(`${path}:${line}`, `${problem}: ${advice}`);
}

/** Whether a text is an object in JSON, to the last character. */
export const isJson = (text: string): boolean =>
  text.trimStart().startsWith('{') && jsonIn(text) !== undefined;

const digitsOf = (character: string): string =>
  character.charCodeAt(0).toString(16).padStart(4, '0');

const escapeOf = (character: string): string => String.raw`\u${digitsOf(character)}`;
