import { setTimeout as pauseFor } from 'node:timers/promises';
import type { Millis } from '../../model/duration.ts';
import { filePosts, type SeenFiles } from './file-posts.ts';

/** How changes of files become known. */
export interface WatchedHost {
  readonly files: SeenFiles;
  /**
   * What the host says of paths that file events do not reach: any text that is another one when
   * something has changed.
   */
  readonly look: (paths: readonly string[], signal: AbortSignal) => Promise<string>;
  /** Pause between two such looks. */
  readonly every: Millis;
}

/** Events come in bursts; so long after the first one they are told of. */
const gathering: Millis = 10;

/**
 * Calls `changed` once at the beginning and whenever one of the paths may have changed, come or gone;
 * resolves when the signal aborts.
 */
export async function watchPaths(
  { files, look, every }: WatchedHost,
  { paths, changed }: { readonly paths: readonly string[]; readonly changed: () => void },
  signal: AbortSignal,
): Promise<void> {
  const bell = bellUntil(signal);
  const posts = filePosts(files, bell.ring);
  let blind: readonly string[] = [];
  // A host that does not answer is found out by whoever looks at the files next.
  const seen = (): Promise<string | undefined> =>
    blind.length === 0 ? Promise.resolve('') : look(blind, signal).catch(() => undefined);
  const tell = (): void => {
    if (!signal.aborted) changed();
  };
  const followEvents = async (): Promise<void> => {
    while (await bell.rung()) {
      await pause(gathering, signal);
      bell.reset();
      // Watched first and told then, so that nothing is lost between the two.
      blind = await posts.follow(paths);
      tell();
    }
  };
  const lookAgain = async (first: string | undefined): Promise<void> => {
    let last = first;
    while (await pause(every, signal)) {
      const now = await seen();
      if (now === undefined || now !== last) tell();
      last = now;
    }
  };
  try {
    if (signal.aborted) return;
    blind = await posts.follow(paths);
    const first = await seen();
    tell();
    await Promise.all([followEvents(), lookAgain(first)]);
  } finally {
    posts.close();
  }
}

interface Bell {
  readonly ring: () => void;
  /** True once it was rung, false when the signal has aborted. */
  readonly rung: () => Promise<boolean>;
  readonly reset: () => void;
}

function bellUntil(signal: AbortSignal): Bell {
  let next = Promise.withResolvers<boolean>();
  signal.addEventListener('abort', () => next.resolve(false), { once: true });
  return {
    ring: () => next.resolve(true),
    rung: async () => (await next.promise) && !signal.aborted,
    reset: () => {
      next = Promise.withResolvers<boolean>();
      if (signal.aborted) next.resolve(false);
    },
  };
}

/** False when the signal ended the pause. */
const pause = (duration: Millis, signal: AbortSignal): Promise<boolean> =>
  pauseFor(duration, true, { signal }).catch(() => false);
