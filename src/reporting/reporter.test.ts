import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../test/support/fake-clock.ts';
import type { RunEventBody } from '../engine/events.ts';
import { seconds } from '../model/duration.ts';
import { failuresOf } from '../model/failure.ts';
import type { StageReport } from './ladder.ts';
import { progressed, started } from '../../test/support/run-events.ts';
import { Reporter, type ReporterOptions } from './reporter.ts';

const failure = failuresOf({
  'inventory.unreachable': { kind: 'remote', title: 't', hint: 'h' },
  'inventory.refused': { kind: 'remote', isFinal: true, title: 't', hint: 'h' },
  'inventory.denied': { kind: 'remote', isFinal: true, title: 't', hint: 'h' },
  'inventory.untrusted': { kind: 'remote', isFinal: true, title: 't', hint: 'h' },
  'inventory.rejected': { kind: 'remote', isFinal: true, title: 't', hint: 'h' },
});

const stageStarted = (stage: StageReport['stage'], stageInfo = ''): RunEventBody =>
  started('a/b', stage, { stageInfo });
const starting = stageStarted('Starting installation', 'master');
const installing = stageStarted('Installing', 'master');
const { signal } = new AbortController();
const unreachable = (): never => {
  throw failure('inventory.unreachable', 'down');
};
const refusedAs = (hostStatus: string) => (): never => {
  throw failure('inventory.refused', 'x', { context: { hostStatus } });
};
const neverAnswers = (): Promise<void> => new Promise(() => undefined);
const text = (info: string): RunEventBody => progressed('a/b', info);
const failedBy = (message: string): Extract<RunEventBody, { type: 'run.failed' }> => ({
  type: 'run.failed',
  duration: 1,
  failure: { code: 'disk.busy', kind: 'host', message, hint: 'unmount it', context: {} },
});

function setUp(
  answer: (report: StageReport, attempt: number) => Promise<void> | void,
  more: Pick<ReporterOptions, 'mask' | 'listedHost' | 'onRefused'> = {},
) {
  const clock = fakeClock({ auto: false });
  const sent: string[] = [];
  const emitted: RunEventBody[] = [];
  const reporter = new Reporter({
    ladder: 'master',
    clock,
    send: async (report) => {
      sent.push(`${report.stage}/${report.info}`);
      await answer(report, sent.length);
    },
    emit: (body) => emitted.push(body),
    ...more,
  });
  const emit = (body: RunEventBody): void => reporter.sink({ ...body, at: 0, run: 'r' });
  const settled = () => reporter.settled(seconds(10), signal);
  return { clock, sent, emitted, reporter, emit, settled };
}

describe('reporter', () => {
  it('sends the stages in order, one request at a time', async () => {
    let underWay = 0;
    let most = 0;
    const { sent, emit } = setUp(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await settle();
      underWay -= 1;
    });
    emit(starting);
    emit(installing);
    emit(stageStarted('Writing image to disk'));
    await settle(60);
    expect(sent).toEqual([
      'Starting installation/master',
      'Installing/master',
      'Writing image to disk/',
    ]);
    expect(most).toBe(1);
  });

  it('sends only the newest report after the service did not answer', async () => {
    const { clock, sent, emit } = setUp((_, attempt) => {
      if (attempt === 1) throw failure('inventory.unreachable', 'down');
    });
    emit(starting);
    await settle();
    emit(installing);
    emit(stageStarted('Writing image to disk'));
    await clock.advance(seconds(1));
    expect(sent).toEqual(['Starting installation/master', 'Writing image to disk/']);
  });

  it('does not retry a refused report and emits report.dropped', async () => {
    const { clock, sent, emitted, emit } = setUp(() => {
      throw failure('inventory.refused', 'lower stage');
    });
    emit(installing);
    await clock.advance(seconds(30));
    expect(sent).toHaveLength(1);
    expect(emitted).toMatchObject([
      { type: 'report.dropped', stage: 'Installing', failure: { code: 'inventory.refused' } },
    ]);
  });

  it('waits for the last report for a minute at most', async () => {
    const { clock, reporter, emit } = setUp(neverAnswers);
    emit(stageStarted('Rebooting'));
    let isFlushed = false;
    void reporter.flush(signal).then(() => {
      isFlushed = true;
    });
    await clock.advance(seconds(59));
    expect(isFlushed).toBe(false);
    await clock.advance(seconds(2));
    expect(isFlushed).toBe(true);
    // The reporter does not wait a second time, because the minute before brought no answer.
    await reporter.flush(signal);
    expect(clock.sleeping()).toBe(0);
  });

  it('stops waiting when it is aborted', async () => {
    const { clock, reporter, emit } = setUp(neverAnswers);
    emit(stageStarted('Rebooting'));
    const stop = new AbortController();
    const flushed = reporter.flush(stop.signal);
    stop.abort(new Error('stopped'));
    await flushed;
    expect(clock.now()).toBe(0);
  });

  it('reports a failure with its code, truncated to 2000 characters', async () => {
    const { sent, emit } = setUp(() => undefined);
    emit(failedBy('x'.repeat(3000)));
    await settle();
    const info = sent[0]?.slice('Failed/'.length) ?? '';
    expect(info.startsWith('disk.busy: xxx')).toBe(true);
    expect(info).toHaveLength(2000);
  });

  it('sends Failed once and nothing after it', async () => {
    const { sent, emit, reporter } = setUp(() => undefined);
    emit(failedBy('mounted'));
    reporter.fail(failedBy('again').failure);
    emit(installing);
    await settle(60);
    expect(sent).toEqual(['Failed/disk.busy: mounted — unmount it']);
  });

  it('sends Failed before waiting reports and without the pause after a failed attempt', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock, sent, emit, reporter } = setUp(async (_, attempt) => {
      if (attempt === 1) throw failure('inventory.unreachable', 'down');
      if (attempt === 2) await promise;
    });
    emit(starting);
    await clock.advance(seconds(1));
    emit(installing);
    emit(stageStarted('Writing image to disk'));
    reporter.fail(failedBy('stopped').failure);
    resolve();
    await settle();
    const failed = 'Failed/disk.busy: stopped — unmount it';
    expect(sent.slice(1)).toEqual(['Starting installation/master', failed]);

    const away = setUp(unreachable);
    away.emit(installing);
    await settle();
    away.reporter.fail(failedBy('stopped').failure);
    await settle();
    expect(away.sent).toEqual(['Installing/master', failed]);
  });

  it('does not send Failed for a stop after the run has finished', async () => {
    const { sent, emit, reporter } = setUp(() => undefined);
    emit({ type: 'run.finished', outcome: 'finished', duration: 1 });
    reporter.fail(failedBy('stopped').failure);
    await settle();
    expect(sent).toEqual([]);
  });

  it('waits 1.5 seconds for the last report of a stopped run', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock, reporter, emit, emitted } = setUp(() => promise);
    emit(failedBy('mounted'));
    const flushed = reporter.flush(AbortSignal.abort());
    await clock.advance(seconds(1.4));
    resolve();
    await flushed;
    expect(emitted).toMatchObject([{ type: 'report.sent', stage: 'Failed' }]);

    const silent = setUp(neverAnswers);
    silent.emit(failedBy('mounted'));
    let isFlushed = false;
    await silent.clock.advance(seconds(1));
    void silent.reporter.flush(AbortSignal.abort()).then(() => (isFlushed = true));
    await silent.clock.advance(seconds(0.5));
    expect(isFlushed).toBe(true);
  });

  it('returns the unanswered reports after the given time', async () => {
    const { clock, emit, settled } = setUp(unreachable);
    emit(starting);
    emit(installing);
    emit(text('half'));
    const ended = settled();
    await clock.advance(seconds(10));
    expect(await ended).toEqual({
      unanswered: [
        { stage: 'Starting installation', info: 'master' },
        { stage: 'Installing', info: 'half' },
      ],
    });
  });

  it('counts a report that a later one replaced as answered', async () => {
    const { clock, emit, settled } = setUp((_, attempt) => {
      if (attempt === 1) throw failure('inventory.unreachable', 'down');
    });
    emit(starting);
    await settle();
    emit(installing);
    await clock.advance(seconds(1));
    const { unanswered } = await settled();
    expect(unanswered).toEqual([]);
  });

  it('counts a later text of an answered stage as unanswered', async () => {
    const { clock, emit, settled } = setUp(async (_, attempt) => {
      if (attempt > 1) throw failure('inventory.unreachable', 'down');
      await settle();
    });
    emit(installing);
    emit(text('half'));
    const ended = settled();
    await clock.advance(seconds(10));
    expect((await ended).unanswered).toEqual([{ stage: 'Installing', info: 'half' }]);
  });

  it.each([
    ['a list with the same status', 'cancelled', 'resetting', 'resetting'],
    ['a list with another status than the refusal', 'error', 'cancelled', 'cancelled'],
    ['a list without this host', 'error', undefined, 'error'],
    ['a host that is being installed', 'error', 'installing-in-progress', undefined],
  ])(
    'reads the status of a refused host from the list: %s',
    async (...[, named, listed, refusedIn]) => {
      const refusals: string[] = [];
      const { emit, settled } = setUp(refusedAs(named), {
        listedHost: () => Promise.resolve(listed === undefined ? listed : { status: listed }),
        onRefused: (status) => refusals.push(status),
      });
      emit(installing);
      const status = await settled();
      expect(status.refusedIn).toBe(refusedIn);
      // The caller of settled() has the status; only later ones are passed to onRefused.
      expect(refusals).toEqual([]);
      emit(stageStarted('Rebooting'));
      await settled();
      expect(refusals).toEqual(refusedIn === undefined ? [] : [refusedIn]);
    },
  );

  it('skips stages up to the one that the service shows, after one refusal', async () => {
    const { sent, reporter, emit, settled } = setUp(
      ({ stage }) => {
        if (stage === 'Rebooting') return;
        throw failure('inventory.refused', 'out of order');
      },
      {
        listedHost: () => Promise.resolve({ status: 'installing-in-progress', stage: 'Rebooting' }),
      },
    );
    for (const stage of ['Starting installation', 'Installing', 'Writing image to disk'] as const) {
      emit(stageStarted(stage, 'master'));
      await settled();
    }
    emit(progressed('a/b', 50));
    emit(stageStarted('Rebooting', ''));
    const status = await settled();
    expect(sent).toEqual(['Starting installation/master', 'Rebooting/']);
    expect(status).toEqual({ unanswered: [] });
    reporter.close();
  });

  it.each(['inventory.denied', 'inventory.untrusted', 'inventory.rejected'] as const)(
    'counts a report that failed with %s as unanswered',
    async (code) => {
      const { sent, reporter, emit, settled } = setUp(() => {
        throw failure(code, 'no');
      });
      emit(installing);
      await settled();
      emit(stageStarted('Rebooting'));
      const { unanswered } = await reporter.flush(signal);
      expect(unanswered.map(({ stage }) => stage)).toEqual(['Installing', 'Rebooting']);
      expect(sent).toHaveLength(2);
      reporter.close();
    },
  );

  it('returns the host status from the refusal of the last report', async () => {
    const { reporter, emit } = setUp(refusedAs('cancelled'));
    emit(failedBy('stopped by SIGTERM'));
    const { refusedIn } = await reporter.flush(signal);
    expect(refusedIn).toBe('cancelled');
  });

  it('does not wait for the list of hosts longer than for an answer', async () => {
    const { clock, emit, settled } = setUp(refusedAs('cancelled'), {
      listedHost: () => new Promise(() => undefined),
    });
    emit(installing);
    const ended = settled();
    await clock.advance(seconds(9));
    expect((await ended).refusedIn).toBe('cancelled');
  });

  it('does not request the list after a refusal without a host status', async () => {
    let lists = 0;
    const { emit, settled } = setUp(
      () => {
        throw failure('inventory.denied', 'x', { context: { status: 401 } });
      },
      {
        listedHost: () => {
          lists += 1;
          return Promise.resolve({ status: 'cancelled' });
        },
      },
    );
    emit(installing);
    const { refusedIn } = await settled();
    expect({ refusedIn, lists }).toEqual({ refusedIn: undefined, lists: 0 });
  });

  it('requests the status every minute after the first call of settled()', async () => {
    const refusals: string[] = [];
    const lists: (string | undefined)[] = ['installing-in-progress', 'cancelled'];
    const { clock, reporter, settled } = setUp(() => undefined, {
      listedHost: () => Promise.resolve({ status: lists.shift() ?? '' }),
      onRefused: (status) => refusals.push(status),
    });
    await clock.advance(seconds(70));
    expect(lists).toHaveLength(2);
    await settled();
    await settled();
    await clock.advance(seconds(60));
    expect([lists.length, refusals]).toEqual([1, []]);
    await clock.advance(seconds(60));
    expect(refusals).toEqual(['cancelled']);
    reporter.close();
    expect(clock.sleeping()).toBe(0);
  });

  it('passes a refused status from the list on and ignores a failed request', async () => {
    const refusals: string[] = [];
    const lists = [Promise.reject(new Error('gone')), Promise.resolve({ status: 'resetting' })];
    const { reporter, settled } = setUp(() => undefined, {
      listedHost: () => lists.shift() ?? Promise.resolve(undefined),
      onRefused: (status) => refusals.push(status),
    });
    await settled();
    await reporter.confirm(signal);
    expect(refusals).toEqual([]);
    await reporter.confirm(signal);
    expect(refusals).toEqual(['resetting']);
  });

  it('does not send part of a secret where a report is truncated', async () => {
    const { sent, emit } = setUp(() => undefined, {
      mask: (text) => text.replaceAll('hunter2', '***'),
    });
    for (let before = 1970; before < 2000; before += 1) {
      emit(stageStarted('Installing', `${'x'.repeat(before)}hunter2`));
      await settle();
    }
    expect(sent).not.toEqual([]);
    for (const report of sent) expect(report).not.toMatch(/x+h/);
  });

  it('updates the text of a stage every ten seconds at most', async () => {
    const times: number[] = [];
    const { clock, sent, emit } = setUp(() => void times.push(clock.elapsed()));
    emit(installing);
    for (let change = 0; change < 250; change += 1) {
      emit(text(`text ${change}`));
      await clock.advance(100);
    }
    await clock.advance(seconds(60));
    expect(times.map((at) => at / seconds(1))).toEqual([0, 10, 20, 30]);
    expect(sent.at(-1)).toBe('Installing/text 249');
  });

  it.each([
    [
      'the last text of a stage before the next stage',
      [text('half'), text('whole'), stageStarted('Writing image to disk')],
      ['Installing/whole', 'Writing image to disk/'],
    ],
    [
      'a failure, and drops the waiting text',
      [text('half'), failedBy('busy')],
      ['Failed/disk.busy: busy — unmount it'],
    ],
  ])('immediately sends %s', async (_, bodies, reports) => {
    const { sent, emit } = setUp(() => undefined);
    for (const body of [installing, ...bodies]) {
      emit(body);
      await settle();
    }
    await settle(60);
    expect(sent).toEqual(['Installing/master', ...reports]);
  });

  it('sends the last text immediately on settled()', async () => {
    const { sent, emit, settled } = setUp(() => undefined);
    emit(installing);
    await settle();
    emit(text('whole'));
    await settled();
    expect(sent).toEqual(['Installing/master', 'Installing/whole']);
  });

  it('does not send a text that the service already has', async () => {
    const { clock, sent, emit, settled } = setUp(() => undefined);
    emit(installing);
    await settle();
    emit(text('passing'));
    emit(installing);
    await clock.advance(seconds(20));
    expect(sent).toEqual(['Installing/master']);
    const { unanswered } = await settled();
    expect(unanswered).toEqual([]);
  });
});
