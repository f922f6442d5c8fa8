import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type BuildLog,
  type CachedPart,
  cacheFolder,
  type Command,
  type MachinePart,
  type Part,
  PartError,
  partFolder,
} from './part.ts';

/** Prints a line for whoever waits; on standard error by default. */
export type Print = (line: string) => void;

const printOnStandardError: Print = (line) => void process.stderr.write(`${line}\n`);

/**
 * Returns where a part is, after getting or building it if it is not there. Safe to run twice at once, and
 * to be stopped at any time: a part is either whole or absent.
 *
 * @throws PartError when the part cannot be had on this machine.
 */
export async function ensurePart(part: Part, print: Print = printOnStandardError): Promise<string> {
  return part.kind === 'cached' ? ensureCached(part, print) : ensureMachine(part, print);
}

/** Ensures several parts, and returns where they are in the same order. */
export const ensureParts = (parts: readonly Part[]): Promise<readonly string[]> =>
  ensureAll(parts, printOnStandardError);

async function ensureMachine(part: MachinePart, print: Print): Promise<string> {
  if (part.isReady()) return part.where();
  await ensureAll(part.tools, print);
  await locked(part, print, async () => {
    if (part.isReady()) return;
    using log = openBuildLog(logOf(part));
    announce(part, log, print);
    await part.make(log);
  });
  return part.where();
}

async function ensureCached(part: CachedPart, print: Print): Promise<string> {
  const folder = partFolder(part);
  if (existsSync(folder)) return folder;
  await ensureAll([...part.tools, ...part.inputs], print);
  await locked(part, print, async () => {
    if (existsSync(folder)) return;
    using log = openBuildLog(logOf(part));
    announce(part, log, print);
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

/** Parts of the machine one after the other, as apt runs once only; then all others at the same time, as few keep two cores busy. */
async function ensureAll(parts: readonly Part[], print: Print): Promise<readonly string[]> {
  for (const part of parts) if (part.kind === 'machine') await ensureMachine(part, print);
  return Promise.all(parts.map((part) => ensurePart(part, print)));
}

async function locked(part: Part, print: Print, work: () => Promise<void>): Promise<void> {
  mkdirSync(cacheFolder(), { recursive: true });
  const lock = await takeLock(join(cacheFolder(), `${part.name}.lock`), (since) => {
    print(
      `${part.name}: waiting for another process, which makes it since ${since.toTimeString().slice(0, 8)} (about ${part.cost}; log ${logOf(part)})`,
    );
  });
  try {
    await work();
  } finally {
    await lock.release();
  }
}

function logOf(part: Part): string {
  return join(cacheFolder(), 'logs', `${part.name}.log`);
}

function announce(part: Part, log: BuildLog, print: Print): void {
  print(`${part.name}: making ${part.purpose} (about ${part.cost}; log ${log.path})`);
}

/** A lock file that this process holds. */
export interface Lock {
  readonly release: () => Promise<void>;
}

/**
 * Holds a lock file until it is released, waiting as long as another process has it.
 * The kernel frees the lock when the holder ends in any way, so a lock never goes stale.
 *
 * @param onWait is called once if another process has it, with the time since when.
 */
export async function takeLock(
  path: string,
  onWait: (since: Date) => void = () => undefined,
): Promise<Lock> {
  const free = await tryLock(path, '--nonblock');
  if (free !== undefined) return free;
  onWait(statSync(path).mtime);
  const taken = await tryLock(path, '--exclusive');
  if (taken === undefined) throw new PartError(`lock file: flock could not take ${path}`);
  return taken;
}

async function tryLock(path: string, how: string): Promise<Lock | undefined> {
  // The child keeps the lock for as long as its standard input is open, which is as long as we live.
  const script = 'touch "$0" && echo taken && exec cat';
  const holder = spawn('flock', [how, path, 'sh', '-c', script, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'close');
  const isTaken = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isTaken) return undefined;
  return {
    release: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}

const tailLines = 25;

/** Opens an empty log file; commands run through it leave all their output there. */
export function openBuildLog(path: string): BuildLog & Disposable {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, 'w');
  return {
    path,
    run: (command) => runLogged(command, descriptor, path),
    [Symbol.dispose]() {
      closeSync(descriptor);
    },
  };
}

async function runLogged(command: Command, descriptor: number, path: string): Promise<void> {
  const [program, ...args] = command.argv;
  writeSync(descriptor, `+ ${command.argv.join(' ')}\n`);
  const child = spawn(program, args, {
    stdio: ['ignore', descriptor, descriptor],
    cwd: command.cwd,
    env: { ...process.env, ...command.environment },
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code === 0) return;
  const how = signal === null ? `ended with code ${String(code)}` : `was ended by ${signal}`;
  throw new PartError(`${program} ${how}; the end of ${path}:\n${tailOf(path)}`);
}

function tailOf(path: string): string {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.slice(-tailLines).join('\n');
}
