import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path/posix';
import { readArchive } from '../lib/archive.ts';
import { readFileOf, replaceFile } from './file-access.ts';
import { ownOrHost } from './host-root.ts';

/** Maximum number of bundles kept on one host. */
const mostKept = 3;

/** The time in the name of a bundle: 20261124T124100Z. */
const moment = /\d{8}T\d{6}Z/;

/**
 * Writes a bundle atomically, readable only by root, and removes the oldest bundles beside it.
 * @throws the error of the system
 */
export async function keepBundle(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.${withoutMoment(path)}.part`);
  await replaceFile(path, { temporary }, (file) => file.writeFile(bytes));
  const others = (await readdir(folder))
    .filter((name) => name !== basename(path) && moment.test(name))
    .filter((name) => withoutMoment(name) === withoutMoment(path))
    .sort();
  for (const name of others.slice(0, Math.max(0, others.length + 1 - mostKept)))
    await rm(join(folder, name), { force: true });
}

/**
 * Writes a bundle to the user's path, readable only by its owner. Leaves no file after a failure,
 * and never replaces an existing file.
 * @throws the error of the system
 */
export async function writeBundle(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(bytes).catch(async (error: unknown) => {
    await rm(path, { force: true });
    throw error;
  });
}

const withoutMoment = (path: string): string => basename(path).replace(moment, '');

/** The first bytes of a gzip file (RFC 1952). */
const isPacked = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/**
 * The files of an untrusted bundle by name; a file that is not packed is its own content.
 * @throws AgentError `file.too-large`; the error of the system; an Error if the archive is damaged,
 * or is too large
 */
export async function readBundle(path: string): Promise<ReadonlyMap<string, string>> {
  const bytes = await readFileOf({ at: await ownOrHost(path), path, kind: 'bundle' });
  return isPacked(bytes) ? readArchive(bytes) : new Map([[basename(path), bytes.toString()]]);
}
