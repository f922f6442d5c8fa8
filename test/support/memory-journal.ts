import type { Journal, JournalEntry } from '../../src/engine/journal.ts';
import { parseJournal } from '../../src/engine/journal.ts';

/** The simulated end of the process at a write to the journal. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/** A journal in memory that can simulate a crash. */
export interface MemoryJournal extends Journal {
  /** The lines that a reader would get now. */
  readonly lines: readonly string[];
  /** Journals that were set aside, oldest first. */
  readonly old: readonly (readonly string[])[];
  /** The entries after the header. */
  readonly entries: () => readonly JournalEntry[];
  /** Makes the journal usable again after a crash, as a new process finds it. */
  readonly restart: () => void;
}

/** Plan of a simulated crash. */
interface CrashPlan {
  /** Crash right after this number of stored appends. */
  readonly crashAfter?: number;
  /** Lose unflushed lines at the crash, as at a power loss. */
  readonly losesUnflushed?: boolean;
  /** Called right after a line is stored, before any other work. */
  readonly onStored?: (line: string, isFlushed: boolean) => void;
}

/** An empty journal, or one with given lines. */
export function memoryJournal(
  lines: readonly string[] = [],
  { crashAfter = Number.POSITIVE_INFINITY, losesUnflushed = false, onStored }: CrashPlan = {},
): MemoryJournal {
  let kept = [...lines];
  let flushed = kept.length;
  let appended = 0;
  let hasCrashed = false;
  let endsAfter = crashAfter;
  const old: string[][] = [];
  const crash = (): never => {
    throw new Crash(`the process ended after ${appended} appends`);
  };
  return {
    get lines() {
      return kept;
    },
    old,
    entries: () => parseJournal(kept)?.entries ?? [],
    restart: () => {
      hasCrashed = false;
      endsAfter = Number.POSITIVE_INFINITY;
    },
    read: () => Promise.resolve([...kept]),
    append: async (line, { flush }) => {
      await Promise.resolve();
      if (hasCrashed) crash();
      kept.push(line);
      appended += 1;
      if (flush) flushed = kept.length;
      onStored?.(line, flush);
      if (appended < endsAfter) return;
      hasCrashed = true;
      if (losesUnflushed) kept.length = flushed;
      crash();
    },
    setAside: () => {
      old.push(kept);
      kept = [];
      flushed = 0;
      return Promise.resolve();
    },
  };
}
