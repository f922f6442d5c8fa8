import { dirname } from 'node:path/posix';
import type { Host } from '../../src/ports/host.ts';

/** The watching half of a fake host. */
export interface FakeWatch extends Pick<Host, 'watch'> {
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
      for (const tell of [...watchers]) tell(path);
    },
    watch: (paths, changed, signal) => {
      if (signal.aborted) return Promise.resolve();
      const tell = (path: string): void => {
        if (paths.some((watched) => concerns(path, chain(watched)))) changed();
      };
      watchers.add(tell);
      changed();
      return new Promise((resolve) => {
        const end = (): void => {
          watchers.delete(tell);
          resolve();
        };
        signal.addEventListener('abort', end, { once: true });
      });
    },
  };
}

/** A path matters if it is what is watched, is in it, or is a directory or link on the way to it. */
const concerns = (path: string, watched: readonly string[]): boolean =>
  watched.some((one) => one === path || one === dirname(path) || one.startsWith(`${path}/`));
