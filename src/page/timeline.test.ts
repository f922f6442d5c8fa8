import { describe, expect, it } from 'vitest';
import { pageAfter } from './fold.ts';
import {
  emptyPage,
  type HostState,
  type PageState,
  type PageUpdate,
  type Span,
  type Work,
} from './state.ts';
import { scaleOf, sharesOf, timelineOf, timelineSection } from './timeline.ts';

const span = (work: Work, from: number, until?: number): Span => ({
  track: '',
  title: `${work} ${from}`,
  work,
  from,
  ...(until !== undefined && { until }),
});

const pageOf = (hosts: readonly HostState[], more: Partial<PageState> = {}): PageState => ({
  ...emptyPage('', '', 0),
  hosts,
  ...more,
});

const none = { live: 0, prepare: 0, write: 0, build: 0, wait: 0, boot: 0, idle: 0 };

it.each([
  ['counts one span', [span('write', 20, 60)], { write: 40, idle: 60 }],
  [
    'counts a wait beside a write as writing',
    [span('wait', 0, 100), span('write', 20, 60)],
    { wait: 60, write: 40 },
  ],
  [
    'counts overlapping build and write once',
    [span('build', 0, 50), span('write', 40, 100)],
    { build: 40, write: 60 },
  ],
  ['clips a span to the interval', [span('prepare', -50, 200)], { prepare: 100 }],
])('sharesOf %s', (_, spans, expected) => {
  const shares = sharesOf(spans, 0, 100);
  expect(shares).toEqual({ ...none, ...expected });
  expect(Object.values(shares).reduce((sum, one) => sum + one, 0)).toBe(100);
});

describe('timelineOf', () => {
  const host = (spans: readonly Span[], end?: number): HostState => ({
    id: 'h',
    name: 'm1',
    role: 'master',
    rail: [],
    steps: {},
    spans,
    stage: '',
    stageInfo: '',
    status: '',
    phase: '',
    hardware: '',
    ...(end === undefined ? {} : { end: { at: end, isGood: true, text: '' } }),
  });

  it('has a track for each lane, the time of each host and the longest spans first', () => {
    const spans = [
      span('prepare', 0, 10),
      { ...span('write', 10, 90), track: 'disk' },
      { ...span('wait', 10, 95), track: 'cluster' },
    ];
    const timeline = timelineOf(pageOf([host(spans, 95)]), 200);
    expect(timeline).toMatchObject({ from: 0, until: 200 });
    const tracks = timeline.hosts[0]?.tracks.map(([first]) => first?.track);
    expect(tracks).toEqual(['', 'disk', 'cluster']);
    expect(timeline.hosts[0]?.took).toBe(95);
    expect(timeline.longest.map(({ took }) => took)).toEqual([85, 80, 10]);
  });

  it('begins with the first span and ends with the page', () => {
    const end = { at: 500, isGood: true, text: '', details: [] };
    const page = pageOf([host([span('write', 40, 90)])], { startedAt: 100, end });
    expect(timelineOf(page, 9000)).toMatchObject({ from: 40, until: 500 });
  });

  it('counts no time for a host that ended before the page began', () => {
    const timeline = timelineOf(pageOf([host([], 400)], { startedAt: 1000 }), 2000);
    expect(timeline).toMatchObject({ from: 1000, hosts: [{ took: 0, shares: none }] });
  });

  it('ends with the last span when the end of the service is earlier', () => {
    const end: PageUpdate = { kind: 'end', at: 50, isGood: false, text: 'error', details: [] };
    const hosts = [host([span('write', 90), span('boot', 95)])];
    const page = pageAfter(pageOf(hosts), end);
    expect(timelineOf(page, 200)).toMatchObject({ until: 95, longest: [{ took: 0 }, { took: 0 }] });
  });

  it('names the failed host because of which a host was stopped', () => {
    const of = (name: string, isStopped: boolean): HostState => ({
      ...host([span('write', 0, 40)]),
      id: name,
      name,
      end: { at: 40, isGood: false, isStopped, text: '' },
    });
    const end = { at: 50, isGood: false, text: 'failed, as expected', details: [] };
    const page = pageOf([of('m1', true), of('m2', false)], { end });
    const [first = '', second = ''] = timelineSection(page, 60).text.split('class="row"').slice(1);
    expect(first).toContain('aria-label="m1: write disks 40 ms, stopped because m2 failed"');
    expect(first).toContain('<title>stopped because m2 failed</title>');
    expect(first).not.toContain('failed, as expected');
    expect(second).toContain('<title>end: failed, as expected</title>');
  });

  it('numbers the attempts of a step, and says what a row is', () => {
    const write = { ...span('write', 0, 10), title: 'Write', attempt: 1 };
    const spans = [write, { ...write, attempt: 2, from: 10, until: 20 }, span('wait', 60, 100)];
    const page = pageOf([host(spans, 100)]);
    expect(timelineOf(page, 100).longest.map(({ title }) => title)).toEqual([
      ...['wait 60', 'Write, attempt 1', 'Write, attempt 2'],
    ]);
    const text = timelineSection(page, 100).text;
    expect(text).toContain('<title>m1: nothing known for 40 ms of 100 ms</title>');
    expect(text).toContain('<title>Write, attempt 2, 10 ms</title>');
  });

  it('marks no failed end on a host that is a node', () => {
    const end = { at: 100, isGood: false, text: 'failed', details: [] };
    const page = pageOf([host([span('write', 0, 40)], 90)], { end });
    expect(timelineSection(page, 100).text).not.toContain('end: failed');
  });

  it('marks faults and objects that became good', () => {
    const objects = [
      { kind: 'Node', name: 'm1', state: 'Ready', tone: 'good', at: 7, goodAt: 7 },
      { kind: 'Node', name: 'm2', state: 'NotReady', tone: 'waiting', at: 8 },
    ] as const;
    const faults = [{ at: 3, where: 'm1', what: 'power-loss', times: 1 }];
    expect(timelineOf(pageOf([], { objects, faults }), 10).moments).toEqual([
      { at: 3, text: 'fault on m1: power-loss', isBad: true },
      { at: 7, text: 'Node m1: Ready', isBad: false },
    ]);
  });
});

it.each([
  [8000, 9, 1000],
  [61_000, 7, 10_000],
  [30 * 86_400_000, 8, 4 * 86_400_000],
  [8000 * 365 * 86_400_000, 9, 365_000 * 86_400_000],
])('scaleOf divides %i ms with %i marks', (length, count, step) => {
  const marks = scaleOf(length);
  expect(marks).toHaveLength(count);
  expect(marks[1]).toBe(step);
});
