import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { PartError } from './part.ts';

/** A lock file that this process holds. */
export interface Lock {
  readonly release: () => Promise<void>;
}

/**
 * Holds a lock file until it is released, waiting as long as another process has it.
 * The kernel frees the lock when the holder ends in any way, so a lock never goes stale.
 */
export async function takeLock(path: string): Promise<Lock> {
  // The child keeps the lock for as long as its standard input is open, which is as long as we live.
  const holder = spawn('flock', ['--exclusive', path, 'sh', '-c', 'echo taken && exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'close');
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(() => {
      throw new PartError(`lock file: flock could not take ${path}`);
    }),
  ]);
  return {
    release: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}
