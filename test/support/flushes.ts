import { type FileHandle, open, readlink } from 'node:fs/promises';
import { vi } from 'vitest';

/**
 * Records the paths flushed to the disk from now on, in order: without a power loss, no other sign
 * shows a missing flush.
 */
export async function watchFlushes(): Promise<readonly string[]> {
  const flushed: string[] = [];
  const handle = await open('/dev/null');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  for (const name of ['sync', 'datasync'] as const) {
    const original = prototype[name];
    vi.spyOn(prototype, name).mockImplementation(async function flush(this: FileHandle) {
      flushed.push(await readlink(`/proc/self/fd/${this.fd}`));
      await original.call(this);
    });
  }
  return flushed;
}
