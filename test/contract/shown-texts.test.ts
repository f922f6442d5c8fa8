// Passes a text from outside through each input, and checks it at each output.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { localHost } from '../../src/adapters/host/local-host.ts';
import { errorOfAnswer } from '../../src/adapters/kube/api-error.ts';
import { openEventStream, openLog } from '../../src/adapters/logging/log-sink.ts';
import { runConfigShow } from '../../src/cli/config.ts';
import { runStatus } from '../../src/cli/status.ts';
import { failureText, printNote } from '../../src/cli/messages.ts';
import { runPlan } from '../../src/cli/plan.ts';
import { eventHub } from '../../src/cli/run-context.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { RunEventBody } from '../../src/engine/events.ts';
import { asAgentError, reportOf } from '../../src/engine/failures.ts';
import { seconds } from '../../src/model/duration.ts';
import type { AgentError } from '../../src/model/failure.ts';
import { Reporter } from '../../src/reporting/reporter.ts';
import { terminalLineOf, openTerminal } from '../../src/reporting/terminal.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { memoryJournal } from '../support/memory-journal.ts';
import { doing, runToy, toy, worldOf } from '../support/toy-role.ts';
import { inventoryStand } from './real/inventory-stand.ts';

/**
 * Colours and a cleared screen, a lone carriage return, reversed and hidden letters, C1 controls,
 * and a line that looks like the program's own.
 */
const steering =
  '\u001b[31mred\u001b[2J\rover\u202egnp.exe\u2066\u200b\u0007\u009b1m\u2028two\nfailed: ours';
const hostile = `${steering} ${'long '.repeat(200_000)}${steering}\u001b[2J\u202eend`;

/** Characters that no shown text may contain; a file of lines may contain line feeds. */
const forbidden = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\u2028\u2029]/u;

/**
 * Maximum length of an output with one text: several texts of 16 Ki characters and their context.
 */
const longest = 100_000;

function requirePlain(shown: string): void {
  expect(shown).not.toBe('');
  expect(forbidden.exec(shown)?.[0].codePointAt(0)).toBeUndefined();
}

const { signal } = new AbortController();
const stand = inventoryStand();
let folder: string;
const at = (name: string): string => join(folder, name);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bootwright-shown-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const ofService = (body: string): Promise<unknown> => {
  stand.server.answering((_, response) => {
    response.writeHead(400);
    response.end(body);
  });
  return stand.v2().hostIgnition('worker', signal);
};

const load = async (...words: readonly string[]): Promise<unknown> =>
  loadConfig(['-r', 'worker', ...words], {});

const entrances: Readonly<Record<string, () => Promise<unknown>>> = {
  'a response of the service': () => ofService(JSON.stringify({ reason: hostile })),
  'a page of a proxy': () => ofService(`<html><title>${steering}</title>`),
  'a message of the API server': () => {
    const text = JSON.stringify({ kind: 'Status', reason: 'Invalid', message: hostile });
    return Promise.reject(errorOfAnswer('GET /x', 422, text).failure);
  },
  'the output of a command': async () => {
    await writeFile(at('said'), hostile);
    const argv = ['sh', '-c', 'cat "$0" >&2; exit 1', at('said')];
    await localHost().exec(argv, { signal, limit: seconds(60) });
  },
  'a value of a flag': () => load('--url', hostile),
  'a value of a file': async () => {
    const image = { url: steering };
    await writeFile(at('config.yaml'), JSON.stringify({ image }));
    await load('--config', at('config.yaml'));
  },
  'a key of a file': async () => {
    await writeFile(at('config.yaml'), JSON.stringify({ [hostile]: 1 }));
    await load('--config', at('config.yaml'));
  },
};

const failureOf = async (enter: () => Promise<unknown>): Promise<AgentError> => {
  const thrown: unknown = await enter().then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  const failure = asAgentError(thrown);
  expect(failure.code).not.toBe('run.unexpected');
  return failure;
};

/** Events of a run with the text of a failure in each place that may hold foreign text. */
function eventsOf(error: AgentError): readonly RunEventBody[] {
  const about = { step: 'a/b' } as const;
  const failure = reportOf(error);
  const text = error.message;
  return [
    {
      type: 'step.started',
      ...about,
      title: 'Write the image',
      attempt: 1,
      stage: 'Writing image to disk',
      stageInfo: text,
    },
    { type: 'step.progress', ...about, progress: { info: text } },
    { type: 'note', ...about, level: 'warn', message: text, fields: { reason: text } },
    {
      type: 'wait.updated',
      ...about,
      sentence: text,
      status: text,
      waited: 1,
      limit: 2,
    },
    { type: 'step.retrying', ...about, failure, attempt: 1, attempts: 2 },
    { type: 'command.started', argv: ['logger', text] },
    { type: 'step.failed', ...about, failure },
    { type: 'run.failed', failure, duration: 1 },
  ];
}

describe.each(Object.entries(entrances))('%s', (_, enter) => {
  it('is plain on the terminal, in both logs, in the events and in the reports', async () => {
    const clock = fakeClock();
    const hub = eventHub(clock, 'r');
    const seen = { line: '', state: '' };
    const onLine = (text: string): void => {
      seen.line += `${text}\n`;
    };
    const log = { level: 'debug', descriptors: [], mask: (text: string) => text } as const;
    const stateOf = terminalLineOf();
    const terminal = openTerminal({ columns: 1e6, write: (text) => (seen.state += text) });
    const infos: string[] = [];
    const reporter = new Reporter({
      ladder: 'master',
      clock,
      emit: hub.emit,
      send: ({ info }) => Promise.resolve(void infos.push(info)),
    });
    const sinks = [
      openLog({ ...log, format: 'pretty', file: at('pretty'), onLine }),
      openLog({ ...log, format: 'json', file: at('json') }),
      openEventStream(at('events'), (text) => text),
    ];
    for (const { sink } of [...sinks, reporter]) hub.add(sink);
    hub.add((event) => {
      const text = stateOf(event);
      if (text !== undefined) terminal.status(text);
    });
    const events = eventsOf(await failureOf(enter));
    for (const event of events) hub.emit(event);
    await reporter.flush(signal);
    await Promise.all(sinks.map(({ close }) => close()));

    for (const name of ['pretty', 'json', 'events']) {
      const written = await readFile(at(name), 'utf8');
      requirePlain(written);
      expect(Math.max(...written.split('\n').map(({ length }) => length))).toBeLessThan(longest);
      // No text starts its own line.
      expect(written).not.toMatch(/^failed: ours/m);
      if (name !== 'pretty') for (const line of written.trim().split('\n')) JSON.parse(line);
    }
    requirePlain(seen.line);
    requirePlain(seen.state.replaceAll('\r\u001b[K', ''));
    expect(seen.state).not.toContain('\n');
    expect(infos.length).toBeGreaterThan(0);
    for (const info of infos) {
      requirePlain(info);
      expect(Array.from(info).length).toBeLessThanOrEqual(2000);
    }
  });

  it('is plain in the lines that end a command', async () => {
    const error = await failureOf(enter);
    const text = failureText(error);
    requirePlain(text);
    expect(text).toMatch(/^failed: .+\n(?:why: .+\n)?next: .+\n$/);
    expect(text.length).toBeLessThan(longest);
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    printNote('warning', error.message);
    expect(written.mock.calls.flat().join('')).toMatch(/^[^\n]*\n$/);
    requirePlain(written.mock.calls.flat().join(''));
  });

  it('is plain in the journal', async () => {
    const error = await failureOf(enter);
    const journal = memoryJournal();
    const world = worldOf(() => Promise.reject(error));
    await runToy(toy({ steps: [doing('a/b')] }), { world, journal });
    const lines = (await journal.read()).join('\n');
    requirePlain(lines);
    expect(lines.length).toBeLessThan(longest);
  });
});

describe('the output of a command of this program', () => {
  const shown = async (run: () => Promise<unknown>): Promise<string> => {
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await run();
    return written.mock.calls.flat().join('');
  };
  const argv = ['-r', 'worker', '--log.file', `/var/log/${steering}`, '--boot-device', '/dev/vda'];

  it.each(['text', 'json'])('for settings and a plan is plain as %s', async (format) => {
    requirePlain(await shown(() => runConfigShow({ argv, environment: {}, format })));
    requirePlain(await shown(() => runPlan({ argv, environment: {}, format })));
  });

  it.each(['text', 'json'])('for a journal is plain as %s', async (format) => {
    const header = { type: 'header', v: 1, role: steering, version: '1' };
    const failed = { type: 'failed', step: 'a/b', at: 1, code: 'x', message: hostile };
    const path = at('opt/install-dir/journal.jsonl');
    await mkdir(dirname(path), { recursive: true });
    const lines = [{ ...header, fingerprint: 'f', bootId: 'b' }, failed];
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      mode: 0o600,
    });
    const environment = { BOOTWRIGHT_HOST_ROOT: folder };
    const text = await shown(() =>
      runStatus({ argv: ['-r', 'worker'], environment, format, watch: false, steps: true }),
    );
    requirePlain(text);
    expect(text.length).toBeLessThan(longest);
  });
});
