import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
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
  isHere,
  type Part,
  PartError,
  partFolder,
  placeOf,
} from './part.ts';

/** Prints a line for the waiting user; on standard error by default. */
export type Print = (line: string) => void;

const printOnStandardError: Print = (line) => void process.stderr.write(`${line}\n`);

/**
 * Returns where a part is, after getting or building it if it is not there. Safe to run twice at once, and
 * to be stopped at any time: a part is either whole or absent.
 *
 * @throws PartError when the part cannot be had on this machine.
 */
export function ensurePart(part: Part, print: Print = printOnStandardError): Promise<string> {
  const made = making.get(part) ?? make(part, print).finally(() => making.delete(part));
  making.set(part, made);
  return made;
}

/** Parts in the making: several parts need the same one, and one line says that it is made. */
const making = new Map<Part, Promise<string>>();

async function make(part: Part, print: Print): Promise<string> {
  if (isHere(part)) return placeOf(part);
  await ensureAll([...part.tools, ...(part.kind === 'cached' ? part.inputs : [])], print);
  mkdirSync(cacheFolder(), { recursive: true });
  const log = join(cacheFolder(), 'logs', `${part.name}.log`);
  const cost = `(about ${part.cost}; log ${log})`;
  await using _lock = await takeLock(join(cacheFolder(), `${part.name}.lock`), (since) => {
    const time = since.toTimeString().slice(0, 8);
    print(`${part.name}: waiting for another process, which makes it since ${time} ${cost}`);
  });
  if (isHere(part)) return placeOf(part);
  print(`${part.name}: making ${part.purpose} ${cost}`);
  using open = openBuildLog(log);
  await (part.kind === 'cached' ? build(part, open) : part.make(open));
  return placeOf(part);
}

/** Ensures several parts, and returns where they are in the same order. */
export const ensureParts = (parts: readonly Part[]): Promise<readonly string[]> =>
  ensureAll(parts, printOnStandardError);

/** Parts of the machine one after the other, as apt runs once only; then all others at the same time, as few keep two cores busy. */
async function ensureAll(parts: readonly Part[], print: Print): Promise<readonly string[]> {
  for (const part of parts) if (part.kind === 'machine') await ensurePart(part, print);
  return Promise.all(parts.map((part) => ensurePart(part, print)));
}

async function build(part: CachedPart, log: BuildLog): Promise<void> {
  await removeUnfinished(part, log);
  const site = mkdtempSync(join(cacheFolder(), `${unfinished}${part.name}-`));
  await part.build({ folder: site, log, input: partFolder });
  chmodSync(site, 0o755);
  renameSync(site, partFolder(part));
}

const unfinished = '.unfinished-';

/** Only called under the part's lock: the process that made these folders has ended. */
async function removeUnfinished({ name }: CachedPart, log: BuildLog): Promise<void> {
  // mkdtemp adds six letters, so the name of one part is never taken for the beginning of another's.
  const left = globSync(`${unfinished}${name}-??????{,.scratch}`, { cwd: cacheFolder() });
  // ostree marks a deployment immutable; a build that was stopped in between leaves it so.
  const remove = 'rm -rf "$1" || { chattr -R -f -i "$1"; rm -rf "$1"; }';
  for (const one of left)
    await log.run({ argv: ['sh', '-c', remove, 'sh', join(cacheFolder(), one)] });
}

/**
 * Holds a lock file until it is disposed of, waiting as long as another process has it.
 * The kernel frees the lock when the holder ends in any way, so a lock never goes stale.
 *
 * @param onWait is called once if another process has it, with the time since when.
 */
export async function takeLock(
  path: string,
  onWait: (since: Date) => void = () => undefined,
): Promise<AsyncDisposable> {
  const free = await tryLock(path, '--nonblock');
  if (free !== undefined) return free;
  onWait(statSync(path).mtime);
  const taken = await tryLock(path, '--exclusive');
  if (taken === undefined) throw new PartError(`lock file: flock could not take ${path}`);
  return taken;
}

async function tryLock(path: string, how: string): Promise<AsyncDisposable | undefined> {
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
    [Symbol.asyncDispose]: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}

/** Opens an empty log file; commands run through it leave all their output there. */
function openBuildLog(path: string): BuildLog & Disposable {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, 'w');
  return {
    path,
    run: (command) => runLogged(command, descriptor, path),
    [Symbol.dispose]: () => closeSync(descriptor),
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
  const tail = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-25).join('\n');
  throw new PartError(`${program} ${how}; the end of ${path}:\n${tail}`);
}
