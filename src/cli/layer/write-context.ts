import { chmod, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { ContextFile } from '../../layering/build/plan.ts';
import { layeringFailure } from '../../layering/failures.ts';

const ownerOnly = { folder: 0o700, file: 0o600 };

/**
 * Writes files to a folder that is empty or not there yet, all of them or none. They hold credentials of machines, so
 * that nobody but their owner can read them.
 * @throws AgentError `layering.folder-taken`, `layering.not-written`
 */
export async function writeContext(out: string, files: readonly ContextFile[]): Promise<void> {
  const folder = resolve(out);
  const isThere = await isEmptyFolder(folder, out);
  let made: string | undefined;
  let beside: string | undefined;
  try {
    const parent = isThere ? folder : dirname(folder);
    made = await mkdir(parent, { recursive: true });
    beside = await mkdtemp(join(parent, '.bootwright-render-'));
    for (const { path, content } of files) await write(join(beside, path), content);
    if (isThere) await moveInto(folder, beside);
    else await rename(beside, folder);
  } catch (cause) {
    const left = made ?? beside;
    if (left !== undefined) await rm(left, { recursive: true, force: true });
    throw layeringFailure('layering.not-written', `${out} cannot be written`, { cause });
  }
}

/** Whether there is such a folder, and nothing in it. */
async function isEmptyFolder(folder: string, out: string): Promise<boolean> {
  const entries = await readdir(folder).catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR') throw taken(`${out} is not a folder`);
    throw layeringFailure('layering.not-written', `${out} cannot be written`, { cause });
  });
  if (entries === undefined) return false;
  if (entries.length > 0) throw taken(`the folder ${out} is not empty`);
  return true;
}

const taken = (message: string): Error => layeringFailure('layering.folder-taken', message);

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder });
  await writeFile(path, content, { mode: ownerOnly.file });
}

/** A folder of the user stays the one that it is: a shell may stand in it. */
async function moveInto(folder: string, beside: string): Promise<void> {
  await chmod(folder, ownerOnly.folder);
  for (const name of await readdir(beside)) await rename(join(beside, name), join(folder, name));
  await rmdir(beside);
}
