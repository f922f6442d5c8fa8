import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { openBuildLog } from './build-log.ts';
import { cacheFolder, partFolder } from './cache.ts';
import { takeLock } from './lock.ts';
import type { BuildLog, CachedPart, MachinePart, Part } from './part.ts';

/** Says one line to whoever waits; the command line's standard error by default. */
export type Say = (line: string) => void;

const sayOnStandardError: Say = (line) => void process.stderr.write(`${line}\n`);

/**
 * Returns where a part is, after getting or building it if it is not there. Safe to run twice at once, and
 * to be stopped at any time: a part is either whole or absent.
 *
 * @throws PartError when the part cannot be had on this machine.
 */
export async function ensurePart(part: Part, say: Say = sayOnStandardError): Promise<string> {
  return part.kind === 'cached' ? ensureCached(part, say) : ensureMachine(part, say);
}

/** Ensures several parts one after the other, and returns where they are in the same order. */
export async function ensureParts(parts: readonly Part[]): Promise<string[]> {
  const places: string[] = [];
  for (const part of parts) places.push(await ensurePart(part));
  return places;
}

async function ensureMachine(part: MachinePart, say: Say): Promise<string> {
  if (part.isReady()) return part.where();
  await ensureAll(part.tools, say);
  await locked(part, async () => {
    if (part.isReady()) return;
    using log = openBuildLog(logOf(part));
    announce(part, log, say);
    await part.make(log);
  });
  return part.where();
}

async function ensureCached(part: CachedPart, say: Say): Promise<string> {
  const folder = partFolder(part);
  if (existsSync(folder)) return folder;
  await ensureAll([...part.tools, ...part.inputs], say);
  await locked(part, async () => {
    if (existsSync(folder)) return;
    using log = openBuildLog(logOf(part));
    announce(part, log, say);
    await buildInto(folder, part, log);
  });
  return folder;
}

async function buildInto(folder: string, part: CachedPart, log: BuildLog): Promise<void> {
  await removeUnfinished(part, log);
  const site = mkdtempSync(join(cacheFolder(), `${unfinished}${part.name}-`));
  await part.build({ folder: site, log, input: partFolder });
  chmodSync(site, 0o755);
  renameSync(site, folder);
}

const unfinished = '.unfinished-';

/** Only called under the part's lock: whoever began these folders has ended. */
async function removeUnfinished(part: CachedPart, log: BuildLog): Promise<void> {
  const prefix = `${unfinished}${part.name}-`;
  const left = readdirSync(cacheFolder()).filter((name) => isUnfinished(name, prefix));
  // ostree marks a deployment immutable; a build that was stopped in between leaves it so.
  const remove = 'rm -rf "$1" || { chattr -R -f -i "$1"; rm -rf "$1"; }';
  for (const name of left) {
    await log.run({ argv: ['sh', '-c', remove, 'sh', join(cacheFolder(), name)] });
  }
}

/** mkdtemp adds six letters, so the name of one part is never taken for the beginning of another's. */
function isUnfinished(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && /^.{6}(\.scratch)?$/.test(name.slice(prefix.length));
}

async function ensureAll(parts: readonly Part[], say: Say): Promise<void> {
  for (const part of parts) await ensurePart(part, say);
}

async function locked(part: Part, work: () => Promise<void>): Promise<void> {
  mkdirSync(cacheFolder(), { recursive: true });
  const lock = await takeLock(join(cacheFolder(), `${part.name}.lock`));
  try {
    await work();
  } finally {
    await lock.release();
  }
}

function logOf(part: Part): string {
  return join(cacheFolder(), 'logs', `${part.name}.log`);
}

function announce(part: Part, log: BuildLog, say: Say): void {
  say(`${part.name}: making ${part.purpose} (about ${part.cost}; log ${log.path})`);
}
