import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sourceOf } from './image/source.ts';
import { takeLock } from './parts/ensure.ts';
import { cacheFolder } from './parts/part.ts';

const top = join(import.meta.dirname, '..');

/** A file of the build that names the commit it was made of; empty where it has changes that no commit has. */
export const revisionFile = 'revision';

/** The agent as it is shipped. */
export const bundlePath = join(top, 'dist', 'bootwright.mjs');

/**
 * Builds the bundle of the agent when it is missing or older than its sources; one process at a time does.
 * @throws Error when the build fails
 */
export async function ensureBundle(print: (text: string) => void): Promise<string> {
  if (await isUpToDate()) return bundlePath;
  const cache = join(cacheFolder(), '..');
  await mkdir(cache, { recursive: true });
  const lock = await takeLock(join(cache, 'bundle.lock'));
  try {
    if (!(await isUpToDate())) await build(print);
    return bundlePath;
  } finally {
    await lock.release();
  }
}

async function isUpToDate(): Promise<boolean> {
  // The last thing that a build writes.
  const built = await modified(join(dirname(bundlePath), 'licences.txt'));
  const sources = [join(top, 'package.json'), ...(await filesBelow(join(top, 'src')))];
  const newest = Math.max(...(await Promise.all(sources.map(modified))));
  if (built <= newest) return false;
  const revision = await readFile(join(dirname(bundlePath), revisionFile), 'utf8').catch(() => '');
  // A build of changes that were committed since, or of an earlier commit, names the wrong one.
  return revision === (sourceOf(top).revision ?? '');
}

async function build(print: (text: string) => void): Promise<void> {
  print('building the agent\n');
  const child = spawn('npm', ['run', '--silent', 'build'], { cwd: top, stdio: ['ignore', 2, 2] });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  if (exitCode !== 0) throw new Error('the agent cannot be built');
}

const modified = async (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

const filesBelow = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
