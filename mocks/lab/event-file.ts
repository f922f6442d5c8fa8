import { closeSync, openSync, readSync } from 'node:fs';
import type { RunEvent } from '../../src/engine/events.ts';

/** Follows the event stream that an agent writes into a file. */
export interface EventFollower {
  /** Reads what is still there and follows no more. */
  readonly end: () => void;
}

const LOOK_EVERY_MILLIS = 40;
const PIECE_BYTES = 65_536;

/**
 * Calls `onEvent` for each whole line of a file that grows, from its beginning. It looks without a
 * promise: mostly there is nothing new, and to learn that takes a few microseconds so.
 */
export function followEvents(path: string, onEvent: (event: RunEvent) => void): EventFollower {
  const piece = Buffer.alloc(PIECE_BYTES);
  let rest = Buffer.alloc(0);
  let file: number | undefined;
  const take = (bytes: Buffer): void => {
    const known = Buffer.concat([rest, bytes]);
    const end = known.lastIndexOf(0x0a) + 1;
    // A letter of several bytes may be half written; only whole lines are made text.
    rest = known.subarray(end);
    for (const line of known.toString('utf8', 0, end).split('\n')) {
      const event = parsed(line);
      if (event !== undefined) onEvent(event);
    }
  };
  const read = (): void => {
    file ??= openIfThere(path);
    if (file === undefined) return;
    for (let size = readSync(file, piece); size > 0; size = readSync(file, piece)) {
      take(piece.subarray(0, size));
    }
  };
  const timer = setInterval(read, LOOK_EVERY_MILLIS);
  return {
    end: () => {
      clearInterval(timer);
      read();
      if (file !== undefined) closeSync(file);
    },
  };
}

/** A line of an agent that was killed while it wrote may be torn; it tells nothing. */
function parsed(line: string): RunEvent | undefined {
  try {
    return JSON.parse(line) as RunEvent;
  } catch {
    return undefined;
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
