import { open } from 'node:fs/promises';
import type { RunEvent } from '../../src/engine/events.ts';

/** Follows the event stream that an agent writes into a file. */
export interface EventFollower {
  /** Reads what is still there and follows no more. */
  readonly end: () => Promise<void>;
}

const LOOK_EVERY_MILLIS = 40;

/** Calls `onEvent` for each whole line of a file that grows, from its beginning. */
export function followEvents(path: string, onEvent: (event: RunEvent) => void): EventFollower {
  let offset = 0;
  let rest = '';
  let reading = Promise.resolve();
  const read = async (): Promise<void> => {
    const text = await textFrom(path, offset);
    offset += Buffer.byteLength(text);
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = parsed(line);
      if (event !== undefined) onEvent(event);
    }
  };
  const timer = setInterval(() => {
    reading = reading.then(read);
  }, LOOK_EVERY_MILLIS);
  return {
    end: async () => {
      clearInterval(timer);
      await reading;
      await read();
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

async function textFrom(path: string, offset: number): Promise<string> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size <= offset) return '';
    const { buffer } = await file.read(Buffer.alloc(size - offset), 0, size - offset, offset);
    // A letter of several bytes may be half written; only whole lines are taken.
    return buffer.subarray(0, buffer.lastIndexOf(0x0a) + 1).toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
