import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { journald } from '../../src/adapters/logging/journald.ts';
import { type LogOptions, openEventStream, openLog } from '../../src/adapters/logging/log-sink.ts';
import { masker } from '../../src/lib/masker.ts';
import { Secret } from '../../src/model/secret.ts';
import { settle } from '../support/fake-clock.ts';
import type { RunEvent, RunEventBody } from '../../src/engine/events.ts';

let directory: string;
const at = (name: string): string => join(directory, name);
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'bootwright-log-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const event = (body: RunEventBody, time = 1000): RunEvent => ({
  ...body,
  at: time,
  run: 'r1',
});
const note = (message: string, level: 'debug' | 'info' = 'info'): RunEvent =>
  event({ type: 'note', step: 'a/b', level, message, fields: {} });
const progress = (percent: number, time: number): RunEvent =>
  event({ type: 'step.progress', step: 'a/b', progress: { info: `${percent}%`, percent } }, time);

/** A full pipe. */
function fullPipe(): number {
  execFileSync('mkfifo', [at('full-pipe')]);
  const pipe = openSync(at('full-pipe'), constants.O_RDWR | constants.O_NONBLOCK);
  repeat(() => writeSync(pipe, 'x'.repeat(4096)));
  return pipe;
}

/** Reads the present content of a pipe. */
function drain(pipe: number): string {
  const parts: Buffer[] = [];
  const buffer = Buffer.alloc(64 * 1024);
  repeat(() => {
    parts.push(Buffer.from(buffer.subarray(0, readSync(pipe, buffer))));
  });
  return Buffer.concat(parts).toString();
}

/** Repeats an action until the pipe is full or empty. */
function repeat(work: () => void): void {
  for (;;) {
    try {
      work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return;
      throw error;
    }
  }
}

describe('the log', () => {
  const open = (more: Partial<LogOptions> = {}) =>
    openLog({
      level: 'info',
      format: 'json',
      file: at('var/log/agent.log'),
      descriptors: [],
      mask: (text) => text,
      ...more,
    });
  const lines = async (): Promise<string[]> =>
    (await readFile(at('var/log/agent.log'), 'utf8')).split('\n').slice(0, -1);

  it('contains the events of its level as JSON', async () => {
    const log = open();
    log.sink(note('quiet', 'debug'));
    log.sink(event({ type: 'step.stopped', step: 'a/b' }));
    await log.close();
    expect((await lines()).map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        level: 'info',
        time: '1970-01-01T00:00:01.000Z',
        msg: 'step stopped',
        step: 'a/b',
        run: 'r1',
      },
    ]);
  });

  it('names the host where a run begins', async () => {
    const log = open({ hostname: 'm1' });
    const begin = { role: 'master', version: '1.1.0', isResumed: false, steps: 1 };
    log.sink(event({ type: 'run.started', ...begin }));
    log.sink(event({ type: 'step.stopped', step: 'a/b' }));
    await log.close();
    const hosts = (await lines()).map((line) => JSON.parse(line) as { hostname?: string });
    expect(hosts.map(({ hostname }) => hostname)).toEqual(['m1', undefined]);
  });

  it('is appended to an existing file', async () => {
    for (const message of ['one', 'two']) {
      const log = open({ format: 'pretty' });
      log.sink(note(message));
      await log.close();
    }
    expect((await lines()).map((line) => line.split(' ').at(-1))).toEqual(['one', 'two']);
  });

  it.each(['json', 'pretty'] as const)('masks secrets as %s', async (format) => {
    const secrets = masker();
    secrets.register(new Secret('planted-"token"'));
    const reported: string[] = [];
    const encoded = Buffer.from('x:planted-"token"').toString('base64');
    for (const { sink, close } of [
      open({ format, mask: secrets.mask, onLine: (text) => reported.push(text) }),
      openEventStream(at('events.jsonl'), secrets.mask),
    ]) {
      sink(note('the token is planted-"token"'));
      sink(event({ type: 'report.sent', stage: 'Failed', info: encoded }));
      await close();
    }
    const events = await readFile(at('events.jsonl'), 'utf8');
    for (const text of [(await lines()).join('\n'), reported.join('\n'), events]) {
      expect(text).toContain('***');
      expect(text).not.toContain('planted');
      expect(text).not.toContain(Buffer.from('planted-"tok').toString('base64'));
      expect(text).not.toContain(encoded.slice(4, -4));
    }
  });

  it('continues when its file can no longer be written', async () => {
    const log = open({ file: '/dev/full', format: 'pretty' });
    for (let count = 0; count < 100; count += 1) log.sink(note('lost'));
    await expect(log.close()).resolves.toBeUndefined();
  });

  it('does not wait for a stalled reader', async () => {
    // A pipe whose other end is open but never read.
    execFileSync('mkfifo', [at('pipe')]);
    const pipe = openSync(at('pipe'), constants.O_RDWR);
    const log = open({ descriptors: [pipe] });
    for (let count = 0; count < 5000; count += 1) log.sink(note('x'.repeat(100)));
    await log.close();
    expect(await lines()).toHaveLength(5000);
    closeSync(pipe);
  });

  it('is closed when its slowest reader has read everything', async () => {
    const pipe = fullPipe();
    const log = open({ descriptors: [pipe] });
    log.sink(note('the last line'));
    let isClosed = false;
    const closed = log.close().then(() => {
      isClosed = true;
    });
    await settle();
    expect(isClosed).toBe(false);
    // Writes may take up space before the pipe is empty.
    const first = drain(pipe);
    await closed;
    expect(first + drain(pipe)).toContain('the last line');
    closeSync(pipe);
  });

  it('buffers 4 MiB for a stalled reader and drops the rest', async () => {
    const pipe = fullPipe();
    const log = open({ descriptors: [pipe], file: undefined, format: 'pretty' });
    const line = 'x'.repeat(8000);
    for (let count = 0; count < 1200; count += 1) log.sink(note(line));
    const reader = new Socket({ fd: openSync(at('full-pipe'), constants.O_NONBLOCK) });
    let bytes = 0;
    let isAsked = false;
    for await (const part of reader as AsyncIterable<Buffer>) {
      bytes += part.length;
      // By now all stored lines are being written, so that another line fits.
      if (bytes > 1024 ** 2 && !isAsked) log.sink(note('the last line'));
      isAsked ||= bytes > 1024 ** 2;
      if (part.includes('the last line')) break;
    }
    expect(bytes).toBeGreaterThan(4 * 1024 ** 2);
    expect(bytes).toBeLessThan(5 * 1024 ** 2);
    await log.close();
    closeSync(pipe);
  });

  it('fails with a code when its file cannot be opened', async () => {
    await writeFile(at('file'), '');
    expect(() => open({ file: at('file/agent.log') })).toThrow(
      expect.objectContaining({ code: 'log.not-opened', kind: 'host' }) as Error,
    );
  });
});

describe('the event stream', () => {
  it('contains every event with a version, and throttles progress', async () => {
    const stream = openEventStream(at('events.jsonl'), (text) => text);
    stream.sink(note('one'));
    for (const [percent, time] of [
      [1, 0],
      [2, 100],
      [3, 200],
      [100, 210],
    ] as const) {
      stream.sink(progress(percent, time));
    }
    await stream.close();
    const events = (await readFile(at('events.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { v: number; progress?: { percent: number } });
    expect(events.map(({ progress: reported }) => reported?.percent)).toEqual([
      undefined,
      1,
      3,
      100,
    ]);
    expect(events.every(({ v }) => v === 1)).toBe(true);
  });
});

describe('journald', () => {
  /** Opens a journal whose `logger` is a script. */
  const open = async (script: string, socket = directory) => {
    await writeFile(at('logger'), `#!/bin/sh\n${script}\n`);
    await chmod(at('logger'), 0o755);
    const environment = { PATH: `${directory}:${process.env['PATH'] ?? ''}` };
    return journald({ access: { prefix: [], environment }, socket, gather: 1 });
  };

  it('batches lines and sends them with the tag installer', async () => {
    const journal = await open(`cat >> ${at('entries')}; echo -- >> ${at('entries')}`);
    journal.line('one', 'info');
    journal.line('two', 'info');
    journal.line('bad', 'error');
    await journal.close();
    expect(await readFile(at('entries'), 'utf8')).toBe(
      'PRIORITY=6\nTAG=installer\nMESSAGE=one\nMESSAGE=two\n--\n' +
        'PRIORITY=3\nTAG=installer\nMESSAGE=bad\n--\n',
    );
  });

  it('does not wait for a hanging logger, and ends it', async () => {
    const journal = await open(`echo $$ > ${at('pid')}; exec sleep 600`);
    journal.line('one', 'info');
    await journal.close();
    const pid = (await readFile(at('pid'), 'utf8')).trim();
    const state = (): string => {
      try {
        return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '';
      } catch {
        return 'X';
      }
    };
    await expect.poll(state).toMatch(/[XZ]/);
  });

  it('stops after three failures of logger', async () => {
    const journal = await open(`echo x >> ${at('tries')}; exit 1`);
    for (let count = 0; count < 5; count += 1) {
      journal.line(`line ${count}`, count % 2 === 0 ? 'info' : 'warn');
    }
    await journal.close();
    expect(await readFile(at('tries'), 'utf8')).toBe('x\n'.repeat(3));
  });

  it('starts nothing without a journal socket', async () => {
    const journal = await open(`echo x > ${at('tries')}`, at('no-socket'));
    journal.line('one', 'info');
    await journal.close();
    await expect(readFile(at('tries'))).rejects.toThrow('ENOENT');
  });
});
