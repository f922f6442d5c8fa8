import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { piecesOf } from '../../src/adapters/host/pieces.ts';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { Host, WrittenFile } from '../../src/ports/host.ts';

// The adapter flushes each file that it writes and hands each call to a thread: what that costs is most of a life, and
// a machine in this process that never loses its power has nothing of it. The contract suite shows what the adapter does.

/** A place of the host as our process sees it, and as the host does. */
interface Place {
  readonly at: string;
  readonly path: string;
}

/** Whole text of a file, undefined when there is none. */
export const readHostFile = ({ at, path }: Place): string | undefined =>
  orWithout(undefined, path, () => readFileSync(at, 'utf8'));

/** Sorted names in a directory; none when there is no such directory. */
export const listHostFiles = ({ at, path }: Place): readonly string[] =>
  orWithout([], path, () => readdirSync(at).sort());

/** Removes a file if it is there. */
export const removeHostFile = ({ at }: Place): void => rmSync(at, { force: true });

/** Writes a file whole: to another name, then renamed. */
export async function writeHostFile(
  { at, path }: Place,
  content: Parameters<Host['writeFile']>[1],
  { signal, mode = 0o600 }: Parameters<Host['writeFile']>[2],
): Promise<WrittenFile> {
  const temporary = join(dirname(at), `.${basename(at)}.part`);
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(content)) {
    signal.throwIfAborted();
    pieces.push(piece);
  }
  signal.throwIfAborted();
  const whole = Buffer.concat(pieces);
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, whole, { mode });
    renameSync(temporary, at);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw hostFailure('file.not-written', `${path} cannot be written`, {
      context: { path },
      cause,
    });
  }
  const sha256 = createHash('sha256').update(whole).digest('hex');
  return { path, bytes: whole.length, sha256 };
}

function orWithout<Found>(none: Found, path: string, look: () => Found): Found {
  try {
    return look();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return none;
    throw hostFailure('file.not-read', `${path} cannot be read`, { context: { path }, cause });
  }
}
