import type { AgentError } from '../model/failure.ts';
import { layeringFailure } from './failures.ts';

/** Why a file, or one of its documents, cannot be read. */
export interface SourceFlaw {
  readonly code: 'layering.malformed-file' | 'layering.wrong-object';
  /** `FILE:LINE`. */
  readonly place: string;
  /** What is wrong there, and what to do about it. */
  readonly problem: string;
}

/** A text, or a part of it, that no parser can make sense of. */
export const malformed = (place: string, problem: string): SourceFlaw => ({
  code: 'layering.malformed-file',
  place,
  problem,
});

/** Something else than what is expected. */
export const wrongObject = (place: string, problem: string): SourceFlaw => ({
  code: 'layering.wrong-object',
  place,
  problem,
});

/** Tells a flaw from what could be read. */
export const isFlaw = (read: object): read is SourceFlaw => 'problem' in read && 'place' in read;

/** The flaw as an error, for whoever needs the whole file. */
export const flawFailure = ({ code, place, problem }: SourceFlaw): AgentError =>
  layeringFailure(code, `${place}: ${problem}`);
