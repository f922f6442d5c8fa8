import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { GuestError, openSerialLog, plainText, type SerialLog } from './serial-log.ts';
import { createTestFolder, type TestFolder } from './test-folder.ts';

describe('plainText', () => {
  it.each([
    ['colours', '\x1b[0;32m  OK  \x1b[0m done', '  OK   done'],
    ['a title', '\x1b]0;boot\x07login:', 'login:'],
    ['a clock sequence that ends in a letter', '\x1b[!pready', 'ready'],
    ['carriage returns', 'one\r\ntwo\r', 'one\ntwo'],
    ['nothing special', 'LIVE-JOB-RC=0', 'LIVE-JOB-RC=0'],
  ])('drops %s', (_name, raw, plain) => {
    expect(plainText(raw)).toBe(plain);
  });
});

describe('waitForLine', () => {
  let folder: TestFolder;
  let log: SerialLog;
  let end: (last: string) => void;

  beforeEach(() => {
    folder = createTestFolder('serial');
    const path = join(folder.path, 'console.txt');
    writeFileSync(path, '');
    const { promise, resolve } = Promise.withResolvers<string>();
    end = resolve;
    log = openSerialLog(path, promise);
  });

  afterEach(() => {
    folder[Symbol.dispose]();
  });

  it('finds a line that was said before', async () => {
    appendFileSync(log.path, 'one\ntwo\n');
    expect(await log.waitForLine(/^tw/, 1)).toBe('two');
  });

  it('finds a line once it is complete, and not before', async () => {
    appendFileSync(log.path, 'LIVE-JOB-RC=1');
    const line = log.waitForLine(/^LIVE-JOB-RC=\d+$/, 5);
    appendFileSync(log.path, '2\n');
    expect(await line).toBe('LIVE-JOB-RC=12');
  });

  it.each([
    ['the guest ends', () => end('badly'), 'the guest ended badly'],
    ['it falls into the emergency shell', send('Entering emergency mode'), 'the guest gave up'],
    ['its kernel panics', send('Kernel panic - not syncing: no init'), 'the guest gave up'],
  ])('fails when %s', async (_name, emit, why) => {
    const line = log.waitForLine(/never/, 5);
    emit();
    await expect(line).rejects.toThrow(GuestError);
    await expect(line).rejects.toThrow(why);
  });

  it('fails when the time is over', async () => {
    await expect(log.waitForLine(/never/, 0)).rejects.toThrow('no such line in 0 s');
  });

  function send(line: string): () => void {
    return () => {
      appendFileSync(log.path, `${line}\n`);
    };
  }
});
