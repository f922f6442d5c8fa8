import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const top = join(import.meta.dirname, '..', '..');

/** The agent as it is shipped. */
export const bundlePath = join(top, 'dist', 'bootwright.mjs');

/**
 * Builds the bundle of the agent when it is missing or older than its sources.
 * @throws Error when the build fails
 */
export async function ensureBundle(say: (text: string) => void): Promise<string> {
  const built = await modified(bundlePath);
  const sources = [join(top, 'package.json'), ...(await filesBelow(join(top, 'src')))];
  const newest = Math.max(...(await Promise.all(sources.map(modified))));
  if (built > newest) return bundlePath;
  say('building the agent\n');
  const build = spawn('npm', ['run', '--silent', 'build'], { cwd: top, stdio: ['ignore', 2, 2] });
  const [exitCode] = (await once(build, 'close')) as [number | null];
  if (exitCode !== 0) throw new Error('the agent cannot be built');
  return bundlePath;
}

const modified = async (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

const filesBelow = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
