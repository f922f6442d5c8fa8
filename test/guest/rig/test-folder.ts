import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for one test's disks and logs. */
export interface TestFolder extends Disposable {
  readonly path: string;
}

/**
 * Makes a folder that goes away with its owner; BOOTWRIGHT_KEEP_GUESTS=1 keeps it, for a look at
 * the logs.
 */
export function createTestFolder(name: string): TestFolder {
  const path = mkdtempSync(join(tmpdir(), `bootwright-${name}-`));
  return {
    path,
    [Symbol.dispose]() {
      if (process.env['BOOTWRIGHT_KEEP_GUESTS'] === undefined)
        rmSync(path, { recursive: true, force: true });
    },
  };
}
