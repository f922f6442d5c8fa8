import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path/posix';
import { hostFailure } from '../../src/ports/host-failures.ts';
import type { Host, WrittenFile } from '../../src/ports/host.ts';

/** A file in memory. */
export interface FakeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** The file half of a fake host. */
interface FakeFiles extends Pick<Host, 'readText' | 'writeFile' | 'remove' | 'list' | 'realPath'> {
  readonly files: Map<string, FakeFile>;
  readonly links: Map<string, string>;
  /** The path, and each path that it leads to by links, whether or not something is there. */
  readonly chain: (path: string) => readonly string[];
}

/** Text of a file in memory, or undefined. */
export const textOf = (file: FakeFile | undefined): string | undefined =>
  file === undefined ? undefined : new TextDecoder().decode(file.bytes);

/** A file with a text. */
export const fileOf = (content: string | Uint8Array, mode: number): FakeFile => ({
  bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
  mode,
});

/** Files and symbolic links in memory; a directory is there when something is in it. */
export function fakeFiles(): FakeFiles {
  const files = new Map<string, FakeFile>();
  const links = new Map<string, string>();
  const real = (path: string): string => chainOf(links, path).at(-1) ?? path;
  const enter = async (signal: AbortSignal): Promise<void> => {
    await Promise.resolve();
    signal.throwIfAborted();
  };
  return {
    files,
    links,
    chain: (path) => chainOf(links, path),
    readText: async (path, signal) => {
      await enter(signal);
      return textOf(files.get(real(path)));
    },
    writeFile: async (path, content, { signal, mode = 0o600 }) => {
      await enter(signal);
      const bytes = await gathered(path, content);
      signal.throwIfAborted();
      files.set(path, { bytes, mode });
      return written(path, bytes);
    },
    remove: async (path, signal) => {
      await enter(signal);
      files.delete(path);
      links.delete(path);
    },
    list: async (path, signal) => {
      await enter(signal);
      return namesIn([...files.keys(), ...links.keys()], path);
    },
    realPath: async (path, signal) => {
      await enter(signal);
      const target = real(path);
      const known = [...files.keys(), ...links.values()].some(
        (one) => one === target || one.startsWith(`${target}/`),
      );
      return known ? target : undefined;
    },
  };
}

/** As many links as the kernel follows. */
const mostLinks = 40;

function chainOf(links: ReadonlyMap<string, string>, path: string): readonly string[] {
  const chain = [path];
  for (let at = path; chain.length <= mostLinks; chain.push(at)) {
    const target = links.get(at);
    if (target === undefined) return chain;
    at = resolve(dirname(at), target);
  }
  return [path];
}

async function gathered(
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): Promise<Uint8Array> {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  if (content instanceof Uint8Array) return Uint8Array.from(content);
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of content) chunks.push(Uint8Array.from(chunk));
  } catch (error) {
    // What the source failed with is the cause, and not that the file could not be written.
    if (error instanceof Error) throw error;
    throw hostFailure('file.not-written', `${path} was not written`, { cause: error });
  }
  return Buffer.concat(chunks);
}

const written = (path: string, bytes: Uint8Array): WrittenFile => ({
  path,
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

function namesIn(paths: readonly string[], directory: string): readonly string[] {
  const prefix = directory.endsWith('/') ? directory : `${directory}/`;
  const names = paths
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split('/')[0] ?? '');
  return [...new Set(names)].sort();
}

/** The watching half of a fake host. */
interface FakeWatch extends Pick<Host, 'watch'> {
  /** Something has happened to a path. */
  readonly touched: (path: string) => void;
  /** How many watch now. */
  readonly watching: () => number;
}

/** Tells whoever watches a path of what happens to it; `chain` follows its links. */
export function fakeWatch(chain: (path: string) => readonly string[]): FakeWatch {
  const watchers = new Set<(path: string) => void>();
  return {
    watching: () => watchers.size,
    touched: (path) => {
      for (const notify of [...watchers]) notify(path);
    },
    watch: (paths, changed, signal) => {
      if (signal.aborted) return Promise.resolve();
      const notify = (path: string): void => {
        if (paths.some((watched) => concerns(path, chain(watched)))) changed();
      };
      watchers.add(notify);
      changed();
      return new Promise((resolve) => {
        const end = (): void => {
          watchers.delete(notify);
          resolve();
        };
        signal.addEventListener('abort', end, { once: true });
      });
    },
  };
}

/**
 * A path matters if it is what is watched, is in it, or is a directory or link on the way to it.
 */
const concerns = (path: string, watched: readonly string[]): boolean =>
  watched.some((one) => one === path || one === dirname(path) || one.startsWith(`${path}/`));
