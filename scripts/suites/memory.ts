import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../parts/cache.ts';

/** Where a check keeps what it knows between runs; beside the parts. */
const memoryPath = (name: string): string => join(cacheFolder(), '..', name);

/**
 * Runs a tool that reads and writes such a file; resolves with its exit code. It gets a copy of its
 * own, which is renamed when it is whole: two runs at once would tear the file.
 */
export async function withMemory(
  name: string,
  run: (path: string) => Promise<number>,
): Promise<number> {
  const [kept, own] = [memoryPath(name), `${memoryPath(name)}.${process.pid}`];
  mkdirSync(dirname(own), { recursive: true });
  if (existsSync(kept)) copyFileSync(kept, own);
  const code = await run(own);
  if (existsSync(own)) renameSync(own, kept);
  return code;
}

/** The keys of what was found clean; none where nothing readable is kept. */
export function recallKeys(name: string): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(readFileSync(memoryPath(name), 'utf8'));
    return new Set(Array.isArray(kept) ? kept.filter((key) => typeof key === 'string') : []);
  } catch {
    // A check without a memory looks at everything.
    return new Set();
  }
}

/** Keeps these keys and forgets all others, so that the memory is as small as the tree. */
export async function rememberKeys(name: string, keys: readonly string[]): Promise<void> {
  await withMemory(name, (path) => {
    writeFileSync(path, JSON.stringify(keys));
    return Promise.resolve(0);
  });
}
