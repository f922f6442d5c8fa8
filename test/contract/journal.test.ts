import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileJournal } from '../../src/adapters/journal.ts';
import type { Journal } from '../../src/engine/journal.ts';
import { watchFlushes } from '../support/flushes.ts';
import { memoryJournal } from '../support/memory-journal.ts';

let directory: string;
const path = (): string => join(directory, 'install-dir/journal.jsonl');

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bootwright-journal-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true, force: true });
});

const journals: readonly [string, () => Journal][] = [
  ['the journal in a file', () => fileJournal(path())],
  ['the journal in memory', () => memoryJournal()],
];

describe.each(journals)('%s implements the journal', (_, make) => {
  it('starts empty', async () => {
    await expect(make().read()).resolves.toEqual([]);
  });

  it('returns lines in the order in which they were appended', async () => {
    const journal = make();
    const lines = Array.from({ length: 50 }, (_line, index) => JSON.stringify({ index }));
    await Promise.all(lines.map((line, index) => journal.append(line, { flush: index % 2 === 0 })));
    await expect(journal.read()).resolves.toEqual(lines);
  });

  it('is empty after it is set aside', async () => {
    const journal = make();
    await journal.append('1', { flush: true });
    await journal.setAside();
    await expect(journal.read()).resolves.toEqual([]);
    await journal.append('2', { flush: true });
    await expect(journal.read()).resolves.toEqual(['2']);
  });
});

describe('the journal in a file', () => {
  it('is read by the next process and has mode 0600', async () => {
    const journal = fileJournal(path());
    await journal.append('{"a":1}', { flush: true });
    await journal.close();
    await expect(fileJournal(path()).read()).resolves.toEqual(['{"a":1}']);
    expect((await stat(path())).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['an incomplete last line', '{"b":', ['1', '3']],
    ['a line that is not JSON, and all lines after it', 'garb\0age\n2\n', ['1', '3']],
    ['an incomplete UTF-8 character', Buffer.from([0x22, 0xc3]), ['1', '3']],
  ])('drops %s and continues after the valid part', async (_, rest, kept) => {
    const journal = fileJournal(path());
    await journal.append('1', { flush: true });
    await journal.close();
    await appendFile(path(), rest);
    const next = fileJournal(path());
    await expect(next.read()).resolves.toEqual(['1']);
    await next.append('3', { flush: true });
    await expect(fileJournal(path()).read()).resolves.toEqual(kept);
  });

  it('keeps the file that is set aside, and does not change a file on reading', async () => {
    const journal = fileJournal(path());
    await journal.append('1', { flush: true });
    await appendFile(path(), 'torn');
    await fileJournal(path()).read();
    await journal.setAside();
    await expect(readFile(`${path()}.old`, 'utf8')).resolves.toBe('1\ntorn');
  });

  it('truncates a failed append and continues once there is space', async () => {
    // A file size limit behaves like a full disk: a part of the line is written, then an error
    // occurs.
    const lines = ['{"a":1}', `{"b":"${'x'.repeat(2000)}"}`, '{"c":3}'];
    const writer = new URL('../process/probes/append-lines.ts', import.meta.url).pathname;
    const script = 'ulimit -f 1; exec "$@"';
    const words = ['-c', script, 'sh', process.execPath, writer, path(), ...lines];
    const { stdout } = await promisify(execFile)('bash', words);
    expect(JSON.parse(stdout)).toEqual(['kept', 'journal.not-kept', 'kept']);
    await expect(readFile(path(), 'utf8')).resolves.toBe(`${lines[0]}\n${lines[2]}\n`);
  });

  it('flushes its directory, and each line on request', async () => {
    const flushed = await watchFlushes();
    const journal = fileJournal(path());
    await journal.append('1', { flush: false });
    expect(flushed).toEqual([path(), dirname(path())]);
    await journal.append('2', { flush: true });
    expect(flushed.slice(2)).toEqual([path()]);
    await journal.setAside();
    expect(flushed.slice(3)).toEqual([dirname(path())]);
  });
});
