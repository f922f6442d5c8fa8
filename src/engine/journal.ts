import * as z from 'zod';
import { jsonIn } from '../lib/json.ts';

/** Header of a journal. A run resumes only if it has the same values. */
export const JournalHeader = z.object({
  type: z.literal('header'),
  /** Version of this format. */
  v: z.literal(1),
  role: z.string(),
  version: z.string(),
  /** Fingerprint of the effective configuration without its secrets. */
  fingerprint: z.string(),
  bootId: z.string(),
});
export type JournalHeader = z.infer<typeof JournalHeader>;

/** Milliseconds since 1970, up to the largest date (ECMA-262, time values). */
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

/** Storage of a journal. */
export interface Journal {
  /** Reads the lines. Drops a torn last line, and an unreadable line with all lines after it. */
  readonly read: () => Promise<readonly string[]>;
  /** Appends a line; with `flush`, the line is on the disk when the promise resolves. */
  readonly append: (line: string, options: { readonly flush: boolean }) => Promise<void>;
  /** Renames the present journal and starts an empty one. */
  readonly setAside: () => Promise<void>;
}

/** A record as a line of the journal. */
export const renderRecord = (record: JournalRecord): string => JSON.stringify(record);

/** Parses the lines of a journal. Undefined without a header that this version knows. */
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
