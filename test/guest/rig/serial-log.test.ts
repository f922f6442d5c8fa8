import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSerialLog } from './serial-log.ts';
import { createTestFolder, type TestFolder } from './test-folder.ts';

describe('a wait for a line of the job', () => {
  let folder: TestFolder;
  let job: string;
  let system: string;

  beforeEach(() => {
    folder = createTestFolder('serial-log');
    [job, system] = [join(folder.path, 'job.txt'), join(folder.path, 'console.txt')];
    for (const path of [job, system]) writeFileSync(path, 'begins\n');
  });

  afterEach(() => folder[Symbol.dispose]());

  const waitForEnd = () =>
    openSerialLog(job, Promise.withResolvers<string>().promise, [system]).waitForLine(/^END$/, 600);

  it('returns the line even if the job has ended since', async () => {
    const wait = waitForEnd();
    appendFileSync(job, 'END\nLIVE-JOB-RC=0\n');
    await expect(wait).resolves.toBe('END');
  });

  it.each([
    ['its job ends without the line', () => job, 'LIVE-JOB-RC=1'],
    ['the system gives up on its console', () => system, 'Entering emergency mode.'],
    ['the kernel panics', () => system, '[   11.8] Kernel panic - not syncing: VFS'],
  ])('fails when %s', async (_, path, line) => {
    const wait = waitForEnd();
    appendFileSync(path(), `${line}\n`);
    await expect(wait).rejects.toThrow(/the guest gave up; waited for [^]*console\.txt/);
  });
});
