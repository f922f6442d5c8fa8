import { createHash, type Hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/**
 * A program, a disk image, a server or a toolchain that a test needs and no npm package brings.
 * A part is downloaded or built on first use and kept outside the tree.
 */
export type Part = CachedPart | MachinePart;

/** The description of a part, for `--list`, the line at the start of its build and the docs. */
export interface PartCard {
  /** Kebab case, unique; what the command line takes. */
  readonly name: string;
  /** Its purpose, as half a sentence without a full stop. */
  readonly purpose: string;
  /** Version or suite that was chosen; a change of it makes a new part. */
  readonly pin: string;
  /** Time and size on two cores, such as "3 minutes, 18 MB". */
  readonly cost: string;
  /** Parts that are needed while it is built, and nowhere in what comes out. */
  readonly tools: readonly Part[];
}

/** A part that lies in a folder of the cache, named by a hash of all that makes it. */
export interface CachedPart extends PartCard {
  readonly kind: 'cached';
  /** Parts whose folders go into this one; their hashes go into its hash. */
  readonly inputs: readonly CachedPart[];
  /** Files and folders that make it, as absolute paths; their content goes into its hash. */
  readonly files: readonly string[];
  /** Fills `site.folder`. It may be stopped at any time; the folder is then thrown away. */
  readonly build: (site: BuildSite) => Promise<void>;
}

/** A part that is a state of this machine, such as installed packages. */
export interface MachinePart extends PartCard {
  readonly kind: 'machine';
  readonly isReady: () => boolean;
  /** Changes the machine so that it is ready. */
  readonly make: (log: BuildLog) => Promise<void>;
  /** Where it is, for `--path`; a folder or the path of a program. */
  readonly where: () => string;
}

/** Runs commands whose output goes to the log file of one build. */
export interface BuildLog {
  readonly path: string;
  /** Runs one command to its end. Throws `PartError` when it ends in anything but 0. */
  readonly run: (command: Command) => Promise<void>;
}

/** A command of a build. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Where and with what a cached part is built. */
export interface BuildSite {
  readonly folder: string;
  readonly log: BuildLog;
  /** The finished folder of one of its inputs. */
  readonly input: (part: CachedPart) => string;
}

/** A part could not be built. The message says all a reader needs: what, why, and where the log is. */
export class PartError extends Error {
  override readonly name = 'PartError';
}

/** Ends a script: with the message of one of these errors and code 1; any other is thrown. */
export async function endedBy(
  work: Promise<void>,
  ...kinds: readonly (new (...words: never[]) => Error)[]
): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof Error && kinds.some((kind) => error instanceof kind))) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** The folder that holds all parts; it follows `XDG_CACHE_HOME`. */
export function cacheFolder(): string {
  const { HOME, XDG_CACHE_HOME } = process.env;
  return join(XDG_CACHE_HOME ?? join(HOME ?? homedir(), '.cache'), 'bootwright', 'parts');
}

/** Where a part lies, or will lie once it is built. */
export function partFolder(part: CachedPart): string {
  return join(cacheFolder(), `${part.name}-${partHash(part)}`);
}

/** Whether a part is made. */
export const isHere = (part: Part): boolean =>
  part.kind === 'cached' ? existsSync(partFolder(part)) : part.isReady();

/** Where a part is, or will be: a folder, or the path of a program. */
export const placeOf = (part: Part): string =>
  part.kind === 'cached' ? partFolder(part) : part.where();

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
