import { watchPaths } from '../../src/adapters/host/watch-paths.ts';
import type { HostFiles } from './files.ts';

/** Pause between two looks, for what no file event tells; never needed here. */
const never = 1e9;

/** A file of a simulated host that somebody waits for. */
export interface WatchedFile {
  readonly files: HostFiles;
  readonly path: string;
  /** Ends the watching. */
  readonly signal: AbortSignal;
}

/** Calls back once at the beginning and whenever the file may have changed, come or gone. */
export async function watchFile(
  { files: { root }, path, signal }: WatchedFile,
  changed: () => void,
): Promise<void> {
  const all = { root, isShared: () => true, isAboveShared: () => true };
  const host = { files: all, look: () => Promise.resolve(''), every: never };
  await watchPaths(host, { paths: [path], changed }, signal);
}
