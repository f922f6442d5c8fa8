import type { AgentError } from '../../model/failure.ts';
import { layeringFailure } from '../failures.ts';

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

/** Why a file, or one of its documents, cannot be read. */
export interface SourceFinding extends LintFinding {
  readonly code: 'layering.malformed-file' | 'layering.wrong-object';
}

const findingOf =
  (code: SourceFinding['code']) =>
  (place: string, message: string): SourceFinding => ({ code, place, severity: 'error', message });

/** A text, or a part of it, that no parser can make sense of. */
export const malformed = findingOf('layering.malformed-file');

/** Another object than the expected one. */
export const wrongObject = findingOf('layering.wrong-object');

/** Whether reading gave a finding and not an object. */
export const isSourceFinding = (read: object): read is SourceFinding => 'severity' in read;

/** The finding as an error, for callers that need the whole file. */
export const sourceFailure = ({ code, place, message }: SourceFinding): AgentError =>
  layeringFailure(code, `${place}: ${message}`);

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
