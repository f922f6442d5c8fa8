import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Makes the names in a directory durable: a file that was created or renamed survives a power loss. */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
