import type { AgentError } from '../../model/failure.ts';
import { layeringFailure } from '../failures.ts';

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

/** What is wrong at one place of a file. */
export interface LintFinding {
  /** `FILE:LINE`. */
  readonly place: string;
  readonly severity: 'error' | 'warning';
  /** The rule that it breaks, of MachineConfigs. */
  readonly rule?: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

/** A finding of a file that cannot be read, for people. */
export const lintFindingOf = ({ place, problem }: SourceFinding): LintFinding => ({
  place,
  severity: 'error',
  message: problem,
});

/** A text that was read. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The text of a file, if it is UTF-8. A byte order mark at its start is left out.
 * @param wanted what the file should hold, for the message
 */
export function decodeSource(
  path: string,
  bytes: Uint8Array,
  wanted = 'a text',
): SourceFile | SourceFinding {
  const isBinary = bytes.includes(0);
  try {
    if (!isBinary) return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    // Said below.
  }
  const what = isBinary ? 'binary' : 'not UTF-8';
  return malformed(`${path}:1`, `${wanted} is expected, in UTF-8, and this file is ${what}`);
}
