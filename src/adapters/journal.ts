// Invariants of the file:
// 1. every stored line is complete JSON and ends with a line feed;
// 2. a new line follows the last good line, also after a failed append: a torn or unreadable rest
//    is cut off first, or the next reader would lose the lines after it;
// 3. appends reach the file in the order of their calls.
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path/posix';
import { pathOnHost } from './host-root.ts';
import { flushDirectory, ifPresent, readFileOf } from './file-access.ts';
import type { Journal } from '../engine/journal.ts';
import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';

/** The journal of a run in a file that only root can read. Reading alone changes nothing. */
export function fileJournal(path: string): Journal & { readonly close: () => Promise<void> } {
  let opened: Promise<FileHandle> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs work after all earlier work. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work).catch((error: unknown) => {
      if (error instanceof AgentError) throw error;
      throw journalFailure('journal.not-kept', `${path} cannot be written: ${wordsOf(error)}`, {
        context: { path },
        cause: error,
      });
    });
    last = turn.catch(() => undefined);
    return turn;
  };
  /** A failed append has already thrown; closing reports nothing new. */
  const close = async (): Promise<void> => {
    const file = await opened?.catch(() => undefined);
    opened = undefined;
    await file?.close().catch(() => undefined);
  };
  return {
    read: () => inTurn(async () => (await goodPart(path)).lines),
    append: (line, { flush }) =>
      inTurn(async () => {
        opened ??= openAtEnd(path);
        try {
          const file = await opened;
          await file.appendFile(`${line}\n`);
          if (flush) await file.datasync();
        } catch (error) {
          // A part of the line may be in the file: the next append opens it at the end of its last
          // good line.
          await close();
          throw error;
        }
      }),
    setAside: () =>
      inTurn(async () => {
        await close();
        await rename(path, `${path}.old`);
        await flushDirectory(dirname(path));
      }),
    close: () => inTurn(close),
  };
}

/** Opens the file at the end of its last good line, and cuts off the rest. */
async function openAtEnd(path: string): Promise<FileHandle> {
  // Node reports ENOENT for a folder that a file system refuses for any reason; the second attempt
  // throws the real error.
  await mkdir(dirname(path), { recursive: true }).catch(() => mkdir(dirname(path)));
  const { bytes } = await goodPart(path);
  const file = await open(path, 'a', 0o600);
  const { size } = await file.stat();
  if (size > bytes) await file.truncate(bytes);
  await file.sync();
  await flushDirectory(dirname(path));
  return file;
}

async function goodPart(
  path: string,
): Promise<{ readonly lines: readonly string[]; readonly bytes: number }> {
  const text = (await readJournalFile('/', path)) ?? '';
  const whole = text.split('\n').slice(0, -1);
  const firstBad = whole.findIndex((line) => !isJson(line));
  const lines = firstBad === -1 ? whole : whole.slice(0, firstBad);
  return { lines, bytes: Buffer.byteLength(lines.map((line) => `${line}\n`).join('')) };
}

/**
 * The text of a journal, or of a status, on the host below `root`; undefined if absent.
 * @throws AgentError `file.not-read`, `file.too-large`; the error of the system
 */
export async function readJournalFile(root: string, path: string): Promise<string | undefined> {
  const at = await pathOnHost(root, path);
  const bytes = await ifPresent(readFileOf({ at, path, kind: 'journal', whose: 'host' }));
  return bytes?.toString();
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

const wordsOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : 'unknown');

/** Failures of writing the journal of a run. */
export const journalFailures = {
  'journal.not-kept': {
    kind: 'host',
    title: 'The journal of the run cannot be written',
    hint: 'check free space and mounts of /opt on the host',
  },
} as const satisfies FailureTable;

/** Builds an error of the journal. */
const journalFailure = failuresOf(journalFailures);

/**
 * A journal that stores nothing, for a run whose steps all read the present state and may run
 * again: a pod has no storage for its next run.
 */
export const noJournal: Journal = {
  read: () => Promise.resolve([]),
  append: () => Promise.resolve(),
  setAside: () => Promise.resolve(),
};
