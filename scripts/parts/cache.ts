import { createHash, type Hash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

import type { CachedPart } from './part.ts';

/** The folder that holds all parts; it follows `XDG_CACHE_HOME`. */
export function cacheFolder(): string {
  const { HOME, XDG_CACHE_HOME } = process.env;
  return join(XDG_CACHE_HOME ?? join(HOME ?? homedir(), '.cache'), 'bootwright', 'parts');
}

/** Where a part lies, or will lie once it is built. */
export function partFolder(part: CachedPart): string {
  return join(cacheFolder(), `${part.name}-${partHash(part)}`);
}

/** Twelve hex digits over all that makes a part: pin, files, inputs and this machine's architecture. */
export function partHash(part: CachedPart): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([part.name, part.pin, process.arch, part.inputs.map(partHash)]));
  for (const path of [...part.files].sort()) addPath(hash, path, basename(path));
  return hash.digest('hex').slice(0, 12);
}

function addPath(hash: Hash, path: string, name: string): void {
  const stat = statSync(path);
  if (stat.isDirectory()) {
    for (const entry of readdirSync(path).sort())
      addPath(hash, join(path, entry), `${name}/${entry}`);
    return;
  }
  const isExecutable = (stat.mode & 0o100) !== 0;
  hash.update(JSON.stringify([name, isExecutable, stat.size]));
  hash.update(readFileSync(path));
}
