import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { revisionOf } from './build/source.ts';
import { takeLock } from './parts/ensure.ts';
import { cacheFolder } from './parts/part.ts';

const top = join(import.meta.dirname, '..');

/**
 * A file of the build that names the commit it was made of; empty where it has changes that no
 * commit has.
 */
export const revisionFile = 'revision';

/** The agent of a release. */
export const bundlePath = join(top, 'dist', 'bootwright.mjs');

/**
 * Builds the bundle of the agent when it is missing or older than its sources; one process at a
 * time does.
 * @throws Error when the build fails
 */
export async function ensureBundle(print: (text: string) => void): Promise<string> {
  if (isUpToDate()) return bundlePath;
  const cache = join(cacheFolder(), '..');
  mkdirSync(cache, { recursive: true });
  await using _lock = await takeLock(join(cache, 'bundle.lock'));
  if (!isUpToDate()) await build(print);
  return bundlePath;
}

function isUpToDate(): boolean {
  // The last thing that a build writes.
  const built = modified('dist/licences.txt');
  const sources = globSync(['package.json', 'src/**'], { cwd: top });
  if (built <= Math.max(...sources.map(modified))) return false;
  // A build of changes that were committed since, or of an earlier commit, names the wrong one.
  const path = join(top, 'dist', revisionFile);
  return existsSync(path) && readFileSync(path, 'utf8') === revisionOf(top);
}

async function build(print: (text: string) => void): Promise<void> {
  print('building the agent\n');
  const child = spawn('npm', ['run', '--silent', 'build'], { cwd: top, stdio: ['ignore', 2, 2] });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  if (exitCode !== 0) throw new Error('the agent cannot be built');
}

const modified = (path: string): number =>
  statSync(join(top, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
