import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import { runStatus } from '../../test/support/run-status.ts';
import { webFailure } from '../adapters/http/failures.ts';
import { seconds } from '../model/duration.ts';
import type { RunStatus } from '../reporting/run-status.ts';
import { cliFailure } from './failures.ts';
import {
  type HostOutcome,
  readHostStatus,
  requireAllInstalled,
  statusUrlsIn,
  watchHost,
} from './watch-hosts.ts';

const status = (change: Partial<RunStatus> = {}): RunStatus =>
  runStatus({
    running: [{ step: 'image/write', title: 'Write the image', since: 0, attempt: 1 }],
    ...change,
  });
const leaving = status({
  running: [{ step: 'finish/leave-host', title: 'Reboot the host', since: 0, attempt: 1 }],
});
const failed = status({ state: 'failed', running: [], reason: 'disk.busy: mounted' });
const again = status({ run: 'r2', running: [] });
const installed = status({ run: 'r2', state: 'left the host', running: [] });
const away = new Error('connect ECONNREFUSED');

/** Watches a host that returns these answers in order and repeats the last one. */
async function watched(answers: readonly (RunStatus | Error)[], abortAfter = seconds(600)) {
  const clock = fakeClock();
  const stop = new AbortController();
  const printed: string[] = [];
  let count = 0;
  const outcome: HostOutcome = await watchHost({
    name: 'm1',
    clock,
    signal: stop.signal,
    read: () => {
      const answer = answers[Math.min(count, answers.length - 1)];
      count += 1;
      if (clock.elapsed() >= abortAfter) stop.abort(new Error('in time'));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? status());
    },
    print: (lines) => void printed.push(...lines),
  });
  return { outcome, printed, elapsed: clock.elapsed() };
}

describe('readHostStatus', () => {
  const url = 'http://u:s3cret@192.0.2.7:9110/status';
  const { signal } = new AbortController();
  const read = (body: AsyncIterable<Uint8Array>) => {
    const reader = { open: () => Promise.resolve({ body, origin: url }) };
    return readHostStatus({ reader, clock: fakeClock() }, url, signal);
  };
  async function* serve(text: string, isWhole = true) {
    yield Buffer.from(text);
    if (!isWhole) await new Promise<never>(() => undefined);
  }

  it('ignores fields of a newer agent', async () => {
    const newer = { ...status({ running: [] }), mood: 'good' };
    await expect(read(serve(JSON.stringify(newer)))).resolves.toEqual(status({ running: [] }));
  });

  it.each(['{"run":"r"}', JSON.stringify(status()) + ' '.repeat(2 ** 17)])(
    'fails for a document that is no status of a run, or longer than any',
    async (text) => {
      const message = 'http://192.0.2.7:9110/status serves no status of a run';
      await expect(read(serve(text))).rejects.toMatchObject({ message });
    },
  );

  it('fails when the response does not end', async () => {
    await expect(read(serve('{"v":', false))).rejects.toMatchObject({
      code: 'cli.status-not-found',
      message: 'http://192.0.2.7:9110/status does not answer to its end',
    });
  });
});

describe('watchHost', () => {
  it('waits until the host is reached and ends when it is installed', async () => {
    const { outcome, printed } = await watched([away, away, status(), away, status(), installed]);
    expect(outcome).toEqual({ kind: 'installed' });
    expect(printed).toEqual([
      'm1: no status yet: connect ECONNREFUSED',
      'm1: master, bootwright 1.1.0: 3 of 20 steps ended',
      'm1: image/write: Write the image',
      'm1: no answer: connect ECONNREFUSED',
      'm1: answers again',
      'm1: master, bootwright 1.1.0: 3 of 20 steps ended',
      'm1: left the host',
    ]);
  });

  it('reports installed when the host stops answering at its reboot, unless its agent starts again', async () => {
    const { outcome, printed, elapsed } = await watched([status(), leaving, away]);
    expect(outcome).toEqual({ kind: 'installed' });
    expect(printed.at(-1)).toBe('m1: no answer, and it was about to reboot: connect ECONNREFUSED');
    expect(elapsed).toBe(seconds(122));
    const killed = await watched([leaving, away, again, away], seconds(600));
    expect(killed.outcome).toMatchObject({ kind: 'unknown' });
  });

  it('polls for two more minutes each time the host stops answering', async () => {
    const late = await watched([leaving, ...Array<Error>(100).fill(away), leaving, away]);
    expect(late.outcome).toEqual({ kind: 'installed' });
    expect(late.elapsed).toBe(seconds(222));
  });

  it('reports unknown when the host stops answering before its reboot', async () => {
    const { outcome } = await watched([status(), away], seconds(60));
    expect(outcome).toEqual({
      kind: 'unknown',
      text: 'm1: image/write; connect ECONNREFUSED',
    });
  });

  it('reports a failure after two minutes, unless the agent was started again', async () => {
    const { outcome, elapsed } = await watched([status(), failed, away]);
    expect(outcome).toMatchObject({
      kind: 'failed',
      failure: { code: 'cli.not-installed', message: 'm1 failed: disk.busy: mounted' },
    });
    expect(elapsed).toBe(seconds(121));
    const restarted = await watched([status(), failed, away, again, installed]);
    expect(restarted.outcome).toEqual({ kind: 'installed' });
  });

  it('reports the failure of the newest run two minutes after it', async () => {
    expect((await watched([failed])).elapsed).toBe(seconds(120));
    const other = { ...failed, run: 'r2', reason: 'disk.gone: away' };
    const { outcome, elapsed } = await watched([...Array<RunStatus>(60).fill(failed), other]);
    expect(outcome).toMatchObject({ failure: { message: 'm1 failed: disk.gone: away' } });
    expect(elapsed).toBe(seconds(180));
  });

  it('reports unknown when the answer comes after the time limit', async () => {
    expect((await watched([status(), installed], seconds(1))).outcome).toEqual({
      kind: 'unknown',
      text: 'm1: image/write',
    });
  });

  it('reports a failure when the time limit ends within the two minutes', async () => {
    expect((await watched([failed], seconds(10))).outcome).toMatchObject({ kind: 'failed' });
  });
});

describe('requireAllInstalled', () => {
  const failure = webFailure('web.unreachable', 'http://m1:9110/status cannot be reached: refused');
  const unreached: HostOutcome = { kind: 'unreached', failure };
  const unknown: HostOutcome = { kind: 'unknown', text: 'm2: image/write' };

  const hint = expect.stringContaining('the agent runs with --status') as string;
  const refusalOf = (...outcomes: readonly HostOutcome[]): unknown => {
    try {
      requireAllInstalled(outcomes, seconds(20));
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('throws the error of hosts that never served a status, with what serves it', async () => {
    expect((await watched([failure], seconds(5))).outcome).toEqual(unreached);
    expect(refusalOf(unreached)).toMatchObject({
      code: 'web.unreachable',
      kind: 'remote',
      message: `no status within 20 s: ${failure.message}`,
      hint,
    });
  });

  it('throws the failures of hosts whose runs failed, before what is not known', () => {
    const ended: HostOutcome = {
      kind: 'failed',
      failure: cliFailure('cli.not-installed', 'm1 failed'),
    };
    expect(refusalOf(ended, unknown)).toMatchObject({
      code: 'cli.not-installed',
      message: 'm1 failed',
    });
  });

  it('names an unreached host beside those that are not installed in time', () => {
    expect(refusalOf(unknown, unreached)).toMatchObject({
      code: 'cli.not-installed-in-time',
      message: `2 of 2 hosts are not installed within 20 s: m2: image/write; ${failure.message}`,
      hint,
    });
    expect(refusalOf({ kind: 'installed' })).toBeUndefined();
  });
});

it('statusUrlsIn returns URLs whose path is /status', () => {
  const urls = ['http://m1:9110/status', 'https://[2001:db8::1]:9110/status'];
  const others = ['http://service:6008', 'http://service:6008/api/status', '--status'];
  expect(statusUrlsIn([...others, ...urls])).toEqual(urls);
});
