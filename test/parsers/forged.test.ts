import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readerTable } from './forged-readers.ts';

/** The heap is small, so that retained memory shows, and not garbage before its collection. */
const options = ['--max-old-space-size=190', '--max-semi-space-size=8'];

/**
 * The limit of the heap ends a reader that retains too much; this bounds the memory outside of the
 * heap. The worst reader takes 280 alone, and 311 were seen on a busy machine: memory that is freed
 * late counts too.
 */
const mostMebibytes = 360;

describe('forged input', () => {
  it.each(Object.keys(readerTable))(
    'for the reader of %s leads to a value or an error with a code, in bounded time and memory',
    async (name) => {
      const path = join(import.meta.dirname, 'forged-run.ts');
      const { stdout } = await promisify(execFile)(process.execPath, [...options, path, name]);
      const { violations, mebibytes } = JSON.parse(stdout) as {
        readonly violations: readonly string[];
        readonly mebibytes: number;
      };
      expect(violations).toEqual([]);
      expect(mebibytes).toBeLessThanOrEqual(mostMebibytes);
    },
  );
});
