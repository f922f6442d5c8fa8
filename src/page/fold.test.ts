import { describe, expect, it } from 'vitest';
import type { RunEvent, RunEventBody } from '../engine/events.ts';
import { progressed, waited, waiting } from '../../test/support/run-events.ts';
import { pageAfter } from './fold.ts';
import { railOfStages, stageStep } from './rail.ts';
import { caps, emptyPage, type PageState, type PageUpdate, type Rail } from './state.ts';

const rail: Rail = [
  [
    {
      name: '',
      steps: [
        { id: 'disk/clean', title: 'Clean the disk', work: 'prepare', isActive: true },
        { id: 'image/write', title: 'Write the disk', work: 'write', isActive: true },
        { id: 'cluster/wait', title: 'Wait for masters', work: 'wait', isActive: true },
      ],
    },
  ],
];

const host: PageUpdate = { kind: 'host', at: 0, id: 'h', name: 'm1', role: 'master', rail };

const event = (at: number, body: RunEventBody): PageUpdate => ({
  kind: 'event',
  at,
  host: 'h',
  event: { at, run: 'r', ...body } as RunEvent,
});

const started = (at: number, step: string, attempt = 1): PageUpdate =>
  event(at, { type: 'step.started', step, title: `Title of ${step}`, attempt });

const after = (...updates: readonly PageUpdate[]): PageState =>
  [host, ...updates].reduce(pageAfter, emptyPage('lab', '', 0));

const stage = (at: number, name: string, info = ''): PageUpdate => ({
  kind: 'stage',
  at,
  host: 'h',
  stage: name,
  info,
  status: 'installing-in-progress',
});

describe('pageAfter for events of an agent', () => {
  it('tracks the state and the spans of each step', () => {
    const page = after(
      started(10, 'disk/clean'),
      event(20, { type: 'step.finished', step: 'disk/clean', duration: 10 }),
      started(20, 'image/write'),
    );
    expect(page.hosts[0]?.steps).toMatchObject({
      'disk/clean': { state: 'finished', since: 10, until: 20 },
      'image/write': { state: 'running', since: 20 },
    });
    expect(page.hosts[0]?.spans).toEqual([
      { track: '', title: 'Title of disk/clean', work: 'prepare', attempt: 1, from: 10, until: 20 },
      { track: '', title: 'Title of image/write', work: 'write', attempt: 1, from: 20 },
    ]);
  });

  it('splits the span of a write at a wait', () => {
    const step = 'image/write';
    const page = after(
      started(10, step),
      event(20, waiting(step, 'not yet')),
      event(30, waiting(step, 'nearly')),
      event(60, waited(step)),
      event(70, { type: 'step.finished', step, duration: 60 }),
    );
    expect(page.hosts[0]?.spans.map(({ work, from, until }) => [work, from, until])).toEqual([
      ['write', 10, 20],
      ['wait', 20, 60],
      ['write', 60, 70],
    ]);
  });

  it('does not lower the percentage, even in a later attempt', () => {
    const page = after(
      started(1, 'image/write'),
      event(2, progressed('image/write', 40)),
      started(3, 'image/write', 2),
      event(4, progressed('image/write', 10)),
    );
    expect(page.hosts[0]?.steps['image/write']).toMatchObject({ attempt: 2, percent: 40 });
  });

  it('logs a command without an exit code as stopped by a signal', () => {
    const argv = ['coreos-installer', 'install'];
    const ended = { type: 'command.finished', argv, exitCode: undefined, duration: 1 } as const;
    expect(after(event(1, ended)).lines.at(-1)?.text).toBe(
      'stopped by a signal: coreos-installer install',
    );
  });

  it('logs the status of a wait only when it changes', () => {
    const step = 'cluster/wait';
    const waits = ['none', 'none', 'm2'].map((status, index) =>
      event(20 + 10 * index, waiting(step, status, { waited: 10 + 10 * index })),
    );
    const page = after(started(10, step), ...waits);
    expect(page.hosts[0]?.steps[step]?.wait).toMatchObject({ status: 'm2', since: 10 });
    expect(page.lines.filter(({ text }) => text.includes('waits until'))).toHaveLength(2);
  });

  it.each([
    [true, 'reached after 5 s: it is so'],
    [false, 'gave up after 5 s: it is so: 1 of 2'],
  ])('logs the end of a wait: reached %s', (isReached, text) => {
    const step = 'cluster/wait';
    const page = after(
      started(10, step),
      event(20, waiting(step, '1 of 2')),
      event(5020, waited(step, undefined, { isReached, waited: 5000 })),
    );
    expect(page.lines.at(-1)?.text).toBe(text);
  });

  it('stops the open step of a killed agent when the next run starts', () => {
    const again: RunEventBody = {
      type: 'run.started',
      role: 'master',
      version: '1',
      isResumed: true,
      steps: 3,
    };
    const page = after(started(10, 'image/write'), event(50, again));
    expect(page.hosts[0]?.steps['image/write']).toMatchObject({ state: 'stopped', until: 50 });
    expect(page.hosts[0]?.spans[0]?.until).toBe(50);
  });

  it('finishes the open step when the host boots from its disk', () => {
    const phase = (at: number, text: string): PageUpdate => ({
      kind: 'phase',
      at,
      host: 'h',
      phase: text,
    });
    const page = after(
      ...[phase(1, 'starts from the live medium'), started(10, 'image/write'), phase(12, '')],
      ...[phase(90, 'starts from its disk'), stage(95, 'Configuring')],
    );
    expect(page.hosts[0]?.steps['image/write']).toMatchObject({ state: 'finished', until: 90 });
    expect(page.hosts[0]?.spans.map(({ work, from, until }) => [work, from, until])).toEqual([
      ...[['live', 1, 12] as const, ['write', 10, 90] as const, ['boot', 90, undefined] as const],
    ]);
  });

  it('has no spans for background steps', () => {
    expect(after(started(10, 'cluster/follow')).hosts[0]?.spans).toEqual([]);
  });
});

describe('pageAfter for stages', () => {
  const ladder = railOfStages([
    'Starting installation',
    'Writing image to disk',
    'Rebooting',
    'Done',
  ]);
  const known: PageUpdate = { ...host, rail: ladder };

  it('finishes the passed stages and the last one', () => {
    const page = after(known, stage(10, 'Writing image to disk', '40%'), stage(60, 'Done'));
    expect(page.hosts[0]?.steps[stageStep('Starting installation')]?.state).toBe('finished');
    expect(page.hosts[0]?.steps[stageStep('Done')]?.state).toBe('finished');
    expect(page.hosts[0]?.spans).toEqual([
      { track: '', title: 'Writing image to disk', work: 'write', from: 10, until: 60 },
    ]);
  });

  it('starts a stage at the time that the service reports', () => {
    const late = { ...stage(100, 'Rebooting'), since: 30 } as PageUpdate;
    expect(after(known, late).hosts[0]?.spans[0]?.from).toBe(30);
  });

  it('shows no role beside the first stage', () => {
    const page = after(known, stage(1, 'Starting installation', 'master'));
    expect(page.lines.map(({ text }) => text)).toEqual(['stage Starting installation']);
    expect(page.hosts[0]?.stageInfo).toBe('');
  });

  it('logs every new text of a stage, but not new percentages', () => {
    const page = after(
      known,
      ...[stage(1, 'Writing image to disk', '1%'), stage(2, 'Writing image to disk', '2%')],
      ...[stage(3, 'Rebooting', 'a'), stage(4, 'Rebooting', 'b')],
    );
    expect(page.lines.map(({ text }) => text)).toEqual([
      'stage Writing image to disk: 1%',
      'stage Rebooting: a',
      'stage Rebooting: b',
    ]);
  });
});

describe('pageAfter for other updates', () => {
  it('keeps the time at which an object became good', () => {
    const seen = (at: number, state: string, tone: 'good' | 'bad'): PageUpdate => ({
      kind: 'object',
      at,
      object: { kind: 'Node', name: 'm1', state, tone },
    });
    const page = after(
      seen(1, 'NotReady', 'bad'),
      seen(5, 'Ready', 'good'),
      seen(9, 'NotReady', 'bad'),
    );
    expect(page.objects).toEqual([
      { kind: 'Node', name: 'm1', state: 'NotReady', tone: 'bad', at: 9, goodAt: 5 },
    ]);
    const gone = { ...seen(10, '', 'bad'), isGone: true } as PageUpdate;
    expect(pageAfter(page, gone).objects).toEqual([]);
  });

  it.each([
    ['auth', 'waiting\nfor a route', 'auth: waiting for a route'],
    ['auth', 'x'.repeat(5000), `auth: ${'x'.repeat(580)}`],
    ['a\nb', 'failed', 'a b: failed'],
  ])(
    'logs the repeated state of %j once, even if it has line breaks or is too long',
    (...given) => {
      const [name, state, logged] = given;
      const object = { kind: 'Node', name, state, tone: 'bad' } as const;
      const seen = (at: number): PageUpdate => ({ kind: 'object', at, object });
      const page = after(seen(1), seen(2), seen(3));
      expect(page.lines.map(({ text }) => text)).toEqual([expect.stringContaining(logged)]);
      expect(page.objects).toMatchObject([{ at: 1 }]);
      expect(pageAfter(page, { kind: 'object', at: 4, object, isGone: true }).objects).toEqual([]);
    },
  );

  it('counts a repeated fault', () => {
    const fault: PageUpdate = { kind: 'fault', at: 1, where: 'service', what: '503' };
    expect(after(fault, { ...fault, at: 2 }).faults).toEqual([
      { at: 1, where: 'service', what: '503', times: 2 },
    ]);
  });

  it('logs once that the service does not answer and once that it answers again', () => {
    const away: PageUpdate = { kind: 'source', at: 1, lastError: 'no answer' };
    const page = after(away, away, { kind: 'source', at: 2 });
    expect(page).toMatchObject({ lastError: undefined, answeredAt: 2 });
    expect(after(away).answeredAt).toBeUndefined();
    expect(page.lines.map(({ text }) => text)).toEqual(['no answer', 'answers again']);
  });

  it('limits lines, spans and objects, and keeps counting lines', () => {
    const many = (make: (n: number) => PageUpdate, count: number): readonly PageUpdate[] =>
      Array.from({ length: count }, (_, n) => make(n));
    const page = after(
      ...many(
        (n) => ({ kind: 'line', at: n, source: 's', level: 'info', text: `${n}` }),
        caps.lines + 5,
      ),
      ...many((n) => started(n, 'image/write'), caps.spans + 5),
      ...many(
        (n) => ({
          kind: 'object',
          at: n,
          object: { kind: 'Pod', name: `${n}`, state: '', tone: 'good' },
        }),
        caps.objects + 5,
      ),
    );
    expect(page.lines).toHaveLength(caps.lines);
    expect(page.lineCount).toBe(caps.lines + 5 + caps.spans + 5 + caps.objects + 5);
    expect(page.hosts[0]?.spans).toHaveLength(caps.spans);
    expect(page.objects).toHaveLength(caps.objects);
    expect(page.objects.at(-1)?.name).toBe(`${caps.objects + 4}`);
  });

  it('truncates external texts and strips control and formatting characters', () => {
    const text = `\u001b[31m${'x'.repeat(5000)}\u202e`;
    const [line] = after({ kind: 'line', at: 1, source: 's', level: 'info', text }).lines;
    expect(line?.text).toHaveLength(caps.text);
    expect(line?.text).toMatch(/^x+…$/);
  });

  it('closes open spans at the end and ignores later updates', () => {
    const end: PageUpdate = { kind: 'end', at: 99, isGood: true, text: 'installed', details: [] };
    const page = after(started(10, 'image/write'), end);
    expect(page.hosts[0]?.spans[0]?.until).toBe(99);
    expect(pageAfter(page, stage(100, 'Failed'))).toBe(page);
  });
});
