import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Machine } from '../../mocks/host/machine.ts';
import type { RecordedRequest } from '../../mocks/http/mock-server.ts';
import { singleIds as ids } from '../../mocks/lab/single-host.ts';
import { masker } from '../../src/lib/masker.ts';
import { Secret } from '../../src/model/secret.ts';
import { openHost, startOn, unpublishedEvents } from './faulty-run.ts';

interface Trace {
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly body?: Readonly<Record<string, string>>;
  }[];
  readonly commands: readonly (readonly string[])[];
}

const top = resolve(import.meta.dirname, '../..');
const traceOf = (role: string): Trace =>
  JSON.parse(readFileSync(`${top}/mocks/traces/${role}.json`, 'utf8')) as Trace;

/** The observable result of one run of an agent. */
interface TracedRun {
  readonly exitCode: number | undefined;
  readonly requests: readonly RecordedRequest[];
  readonly machine: Machine;
  readonly serviceUrl: string;
  /** Text of every file that the run wrote: log, journal, events, Ignition, output. */
  readonly files: ReadonlyMap<string, string>;
}

/** The token of the run; no file may contain it. */
const plantedSecret = 'planted-secret-7f3a9c';

/** The flags of the recorded trace, besides the ids. */
const recordedWords = [
  ...['--agent-image', 'registry.example/agent:1', '--skip-installation-disk-cleanup'],
  ...['--installer-args', '["--append-karg","ip=eth0:dhcp"]'],
];

/** Runs the built agent against the stand-ins in the same way as the traced agent ran. */
async function traceAgent(role: 'master' | 'worker'): Promise<TracedRun> {
  await using host = await openHost({
    role,
    write: { seconds: 0.4, flushSeconds: 0, lineMillis: 20 },
    token: plantedSecret,
  });
  const agent = startOn(host, {
    args: [...recordedWords, '--verbose'],
    env: {
      BOOTWRIGHT_LOG_EVENTS: join(host.folder, 'events.jsonl'),
      // The traced agent always waits a minute; Bootwright waits only if a setting says so (ADR
      // 0011).
      BOOTWRIGHT_FINISH_REBOOT_DELAY_MINUTES: '1',
    },
  });
  const { exitCode } = await agent.ended;
  const { inventory, machine, folder } = host;
  return {
    exitCode,
    requests: [...inventory.requests],
    machine,
    serviceUrl: inventory.url,
    files: filesBelow(folder),
  };
}

function filesBelow(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, readFileSync(path, 'latin1')];
    }),
  );
}

/** Replaces ids by the letters of the trace. */
const withLetters = (text: string): string =>
  text.replaceAll(ids.cluster, 'C').replaceAll(ids.infraEnv, 'I').replaceAll(ids.host, 'H');

/**
 * Percentages depend on the speed of the stand-in; another assertion covers which of them are
 * reported.
 */
const withoutPercent = (requests: Trace['requests']): Trace['requests'] =>
  requests.filter(({ body }) => !/^\d+%$/.test(body?.['progress_info'] ?? ''));

const seen = (requests: readonly RecordedRequest[]): Trace['requests'] =>
  requests
    .filter(
      ({ headers, method }) =>
        !(method === 'POST' || headers['content-type']?.includes('multipart')),
    )
    .map(({ method, path, body }) => ({
      method,
      path: withLetters(path),
      ...(body === '' ? {} : { body: JSON.parse(body) as Record<string, string> }),
    }));

/** The stand-in of logs_sender sends reports too; those requests do not count as the agent's. */
const byAgent = (requests: Trace['requests']): Trace['requests'] => {
  let announced = 0;
  return requests.filter(({ path }) => !path.endsWith('/logs-progress') || (announced += 1) === 1);
};

/**
 * No step waits for the agent's reports, so only their order among themselves is certain (ADR
 * 0011).
 */
const isReport = ({ method }: Trace['requests'][number]): boolean => method === 'PUT';

const comparable = (argv: readonly string[], serviceUrl = 'http://SVC'): readonly string[] =>
  argv.map((word) =>
    word
      .replaceAll(serviceUrl, 'http://SVC')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
      .replaceAll(/^\/dev\/(loop1|sda)$/g, 'DISK'),
  );

/** The one deviation in a command (ADR 0011): the token is passed in the environment. */
const withoutToken = (argv: readonly string[]): readonly string[] =>
  argv.filter(
    (word, index) =>
      word !== '-pull-secret-token' &&
      argv[index - 1] !== '-pull-secret-token' &&
      word !== '--env=PULL_SECRET_TOKEN',
  );

describe.each(['worker', 'master'] as const)('the trace of a %s', (role) => {
  const trace = traceOf(role);
  let run: TracedRun;
  beforeAll(async () => {
    run = await traceAgent(role);
  });

  it('is that of a successful agent', () => {
    expect(run.exitCode).toBe(0);
    expect(run.machine.unknown).toEqual([]);
  });

  it('has the same reports in the same order', () => {
    const ours = withoutPercent(byAgent(seen(run.requests)));
    expect(ours.filter(isReport)).toEqual(withoutPercent(trace.requests).filter(isReport));
  });

  it('has the same other requests in the same order', () => {
    const ours = seen(run.requests).filter((one) => !isReport(one));
    expect(ours).toEqual(trace.requests.filter((one) => !isReport(one)));
  });

  it('reports percentages in steps of at least five, and 100', () => {
    const reported = seen(run.requests).flatMap(({ body }) => {
      const percent = /^(\d+)%$/.exec(body?.['progress_info'] ?? '')?.[1];
      return percent === undefined ? [] : [Number(percent)];
    });
    expect(reported.at(-1)).toBe(100);
    for (const [index, percent] of reported.entries()) {
      const before = reported[index - 1] ?? 0;
      expect(percent === 100 || percent - before >= 5, `${before} → ${percent}`).toBe(true);
    }
  });

  it('sends the same headers as assisted-installer', () => {
    for (const { method, path, headers } of run.requests) {
      if (path.includes('/logs')) continue;
      expect(headers['x-secret-key'], path).toBe(plantedSecret);
      expect(headers['accept'], path).toBe(
        path.includes('/downloads/') ? 'application/octet-stream' : 'application/json',
      );
      if (method === 'PUT') expect(headers['x-request-id'], path).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('has the same commands in the same order, with additional checks in between', () => {
    const ours = run.machine.ran.map(({ argv }) => comparable(argv, run.serviceUrl));
    let from = 0;
    for (const argv of trace.commands.map((one) => withoutToken(comparable(one)))) {
      const at = ours.findIndex(
        (candidate, index) =>
          index >= from && withoutToken(candidate).join('\0') === argv.join('\0'),
      );
      expect(
        at,
        `${argv.join(' ')}\nnot among\n${ours.map((one) => one.join(' ')).join('\n')}`,
      ).not.toBe(-1);
      from = at + 1;
    }
  });

  it('leaves no token in the log, the journal, the events and the output', () => {
    const names = [...run.files.keys()];
    for (const name of ['journal.jsonl', 'assisted-installer.log', 'events.jsonl', 'agent.log']) {
      expect(
        names.some((path) => path.endsWith(name)),
        name,
      ).toBe(true);
    }
    // The masker knows every written form of a secret.
    const { register, mask } = masker();
    register(new Secret(plantedSecret));
    const leaks = [...run.files].flatMap(([path, text]) => (mask(text) === text ? [] : [path]));
    expect(leaks).toEqual([]);
  });

  it('writes events as documented in docs/events.md', () => {
    const [, stream = ''] = [...run.files].find(([path]) => path.endsWith('events.jsonl')) ?? [];
    expect(unpublishedEvents(stream)).toEqual([]);
    for (const type of [
      ...['run.started', 'step.started', 'step.progress', 'step.skipped', 'step.finished'],
      ...['command.started', 'command.finished', 'note', 'report.sent', 'run.finished'],
    ])
      expect(stream).toContain(`"type":"${type}"`);
  });

  it('keeps the token out of every argv', () => {
    const words = run.machine.ran.flatMap(({ argv }) => argv);
    expect(words.filter((word) => word.includes(plantedSecret))).toEqual([]);
  });
});
