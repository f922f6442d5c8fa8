import * as z from 'zod';
import { jsonIn } from '../lib/json.ts';

/** What must be the same for a journal to be gone on with. */
export const JournalHeader = z.object({
  type: z.literal('header'),
  /** Version of this format. */
  v: z.literal(1),
  role: z.string(),
  version: z.string(),
  /** Of the effective configuration without its secrets. */
  fingerprint: z.string(),
  bootId: z.string(),
});
export type JournalHeader = z.infer<typeof JournalHeader>;

/** Milliseconds since 1970, as far as a date can be (ECMA-262, time values). */
const instant = z.number().min(0).max(8.64e15);

/** One line of a journal after the header. */
export const JournalEntry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('started'), step: z.string(), at: instant }),
  z.object({ type: z.literal('finished'), step: z.string(), at: instant, fact: z.unknown() }),
  z.object({
    type: z.literal('failed'),
    step: z.string(),
    at: instant,
    code: z.string(),
    message: z.string(),
  }),
  z.object({ type: z.literal('stopped'), step: z.string(), at: instant }),
]);
export type JournalEntry = z.infer<typeof JournalEntry>;

/** A header or an entry. */
export type JournalRecord = JournalHeader | JournalEntry;

/** Where a journal is kept. */
export interface Journal {
  /** The lines that can be read; a torn last line and all after an unreadable one are dropped. */
  readonly read: () => Promise<readonly string[]>;
  /** Adds a line; with `flush` it is on the disk when the promise resolves. */
  readonly append: (line: string, options: { readonly flush: boolean }) => Promise<void>;
  /** Keeps the present journal under another name and begins an empty one. */
  readonly setAside: () => Promise<void>;
}

/** A record as its line. */
export const renderRecord = (record: JournalRecord): string => JSON.stringify(record);

/**
 * Reads the lines of a journal. Undefined when there is no header that this version knows.
 */
export function parseJournal(
  lines: readonly string[],
): { readonly header: JournalHeader; readonly entries: readonly JournalEntry[] } | undefined {
  const [first, ...rest] = lines;
  const header = first === undefined ? undefined : JournalHeader.safeParse(jsonIn(first)).data;
  if (header === undefined) return undefined;
  const entries: JournalEntry[] = [];
  for (const line of rest) {
    const entry = JournalEntry.safeParse(jsonIn(line));
    if (!entry.success) break;
    entries.push(entry.data);
  }
  return { header, entries };
}
