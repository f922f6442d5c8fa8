import { Buffer, isUtf8 } from 'node:buffer';

import { ignitionFailure } from './failures.ts';
import { finding, type Finding } from './finding.ts';
import { scanJson, type JsonNotes } from './json-scan.ts';

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonObject | readonly JsonValue[];
/** A JSON object, keys as they stand in the text. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** A JSON text, parsed, with what is worth knowing about it. */
export interface ParsedJson {
  readonly value: JsonValue;
  readonly notes: JsonNotes;
  readonly warnings: readonly Finding[];
}

/** Whether a JSON value is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Parses the JSON of a config. What is plainly no config is told apart: nothing at all, a web page.
 * Bytes that are not UTF-8 become replacement characters, as in Go, and are reported.
 *
 * @throws AgentError `ignition.empty`, `ignition.html-page`, `ignition.not-json` (line and column
 * in its context)
 */
export function parseJson(input: Uint8Array | string): ParsedJson {
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('utf8');
  refuseOtherThanJson(text);
  const notes = scanJson(text);
  if ('problem' in notes) throw notJson(notes.line, notes.column, notes.problem);
  const warnings = notes.duplicates.map((path) => finding('duplicate-key', path));
  if (typeof input !== 'string' && !isUtf8(input)) warnings.push(finding('invalid-utf8', ''));
  return { value: JSON.parse(text) as JsonValue, notes, warnings };
}

function refuseOtherThanJson(text: string): void {
  if (text.startsWith('\u{feff}')) throw notJson(1, 1, 'a byte order mark');
  const [first] = text.trimStart();
  if (first === undefined) throw ignitionFailure('ignition.empty', 'ignition config is empty');
  if (first === '<') {
    throw ignitionFailure('ignition.html-page', 'ignition config is an HTML page');
  }
}

function notJson(line: number, column: number, problem: string): Error {
  return ignitionFailure(
    'ignition.not-json',
    `ignition config is not JSON: line ${line}, column ${column}: ${problem}`,
    { context: { line, column, problem } },
  );
}
