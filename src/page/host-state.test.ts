import { describe, expect, it } from 'vitest';
import { pageWord, timesOf, viewOf } from './host-state.ts';
import { railOfStages, stageStep } from './rail.ts';
import type { StepState } from '../engine/run-steps.ts';
import { emptyPage, type HostState } from './state.ts';

const stages = [
  'Installing',
  'Writing image to disk',
  'Waiting for control plane',
  'Done',
] as const;

const host = (change: Partial<HostState> = {}): HostState => ({
  id: 'h',
  name: 'm1',
  role: 'master',
  rail: railOfStages(stages),
  steps: {},
  spans: [],
  stage: '',
  stageInfo: '',
  status: '',
  phase: '',
  hardware: '',
  ...change,
});

const running = (stage: string, change: Partial<StepState> = {}): HostState => ({
  ...host({ stage }),
  steps: {
    [stageStep(stage)]: {
      step: stageStep(stage),
      title: stage,
      state: 'running',
      since: 5,
      attempt: 1,
      ...change,
    },
  },
});

const wait = { sentence: 's', status: 'm2 NotReady', since: 7, limit: 60_000 };

describe('viewOf', () => {
  it.each<[string, HostState, object]>([
    [
      'that reports 400 percent',
      { ...running('Writing image to disk'), stageInfo: '400 %' },
      { tone: 'busy', current: [{ percent: 100, detail: '', since: 5, tone: 'busy' }] },
    ],
    [
      'with more text than a percentage',
      { ...running('Writing image to disk'), stageInfo: '40% of it' },
      { current: [{ percent: undefined, detail: '40% of it' }] },
    ],
    [
      'that writes at a known rate',
      running('Writing image to disk', {
        percent: 10,
        info: '10%',
        bytesPerSecond: 12e6,
        remaining: 9000,
      }),
      { current: [{ percent: 10, detail: '12.0 MB/s, 9 s left' }] },
    ],
    [
      'that waits',
      running('Waiting for control plane', { wait }),
      {
        tone: 'waiting',
        current: [{ detail: 'm2 NotReady, at most 1 min', since: 7, tone: 'waiting' }],
      },
    ],
    [
      'that repeats a request',
      running('Installing', {
        wait: { ...wait, sentence: 'the service', status: '503, attempt 4', attempt: 4 },
      }),
      { current: [{ detail: 'waits for the service: 503, attempt 4, at most 1 min' }] },
    ],
    [
      'in a wait step with another title',
      {
        ...running('Settle'),
        rail: [
          [
            {
              name: '',
              steps: [{ id: stageStep('Settle'), title: 'Settle', work: 'wait', isActive: true }],
            },
          ],
        ],
      },
      { tone: 'waiting', current: [{ title: 'Settle', tone: 'waiting' }] },
    ],
    [
      'with steps but without a stage',
      {
        ...host(),
        steps: {
          'disk/lock': { step: '', title: '', state: 'finished', since: 1, until: 2, attempt: 1 },
        },
      },
      { tone: 'busy', word: 'installing' },
    ],
    [
      'that boots',
      host({ phase: 'starts from its disk' }),
      { current: [{ title: 'starts from its disk' }] },
    ],
    [
      'that has ended',
      host({ end: { at: 1, isGood: true, text: 'is a node' } }),
      { tone: 'good', word: 'is a node', percent: 100, done: 4, current: [] },
    ],
  ])('describes a host %s', (_, state, expected) => {
    expect(viewOf(state)).toMatchObject(expected);
  });

  it('counts skipped steps as done and does not count inactive ones', () => {
    const [track] = railOfStages(stages)[0] ?? [];
    const steps = (track?.steps ?? []).map((step, index) => ({ ...step, isActive: index !== 3 }));
    const skipped = { step: '', title: '', state: 'skipped', since: 1, attempt: 1 } as const;
    const state = host({
      rail: [[{ name: '', steps }]],
      steps: { [stageStep('Installing')]: skipped },
    });
    expect(viewOf(state)).toMatchObject({ done: 1, all: 3, percent: 33 });
  });
});

it.each([
  ['', { word: 'waiting for the service', tone: 'waiting' }, []],
  ['', { word: 'installing', tone: 'busy' }, [host()]],
  ['installed', { word: 'installed', tone: 'good' }, [host()]],
  ['error', { word: 'error', tone: 'bad' }, [host()]],
])('pageWord for a cluster with the status %j is %o', (status, expected, hosts) => {
  const cluster = { status, info: '' };
  expect(pageWord({ ...emptyPage('', '', 0), hosts, cluster })).toEqual(expected);
});

it.each([
  [{ lastError: 'connection refused' }, 'not reached yet'],
  [{ lastError: 'answered 401', refusal: 'token refused' }, 'token refused'],
])('pageWord for a source without data, %o, is %s', (source, word) => {
  expect(pageWord({ ...emptyPage('', '', 0), ...source })).toEqual({ word, tone: 'waiting' });
});

describe('timesOf', () => {
  const ended = (
    name: string,
    stage: string,
    { until, state = 'finished' }: { until: number; state?: StepState['state'] },
  ): HostState => ({
    ...running(stage, { state, since: 1000, until }),
    name,
  });
  const write = 'Writing image to disk';
  const id = stageStep(write);

  it.each([
    [
      'returns the longest time',
      [
        ended('m1', write, { until: 61_000 }),
        ended('m2', write, { until: 191_000 }),
        ended('m3', write, { until: 91_000 }),
      ],
      { host: 'm2', took: 190_000 },
    ],
    ['ignores a running step', [running(write)], undefined],
    ['ignores a failed step', [ended('m1', write, { until: 61_000, state: 'failed' })], undefined],
    ['ignores a stage that was passed unseen', [ended('m1', write, { until: 1000 })], undefined],
  ])('%s', (_, hosts, time) => {
    expect(timesOf(hosts).get(id)).toEqual(time);
  });

  it('ignores a wait, because hosts start to wait at different times', () => {
    const stage = 'Waiting for control plane';
    expect(timesOf([ended('m1', stage, { until: 61_000 })]).size).toBe(0);
  });

  const times = timesOf([ended('m1', write, { until: 191_000 })]);

  it('is shown beside the same step of another host without a remaining time', () => {
    expect(viewOf(running(write), times).current[0]?.detail).toBe('took 3 min 10 s on m1');
    expect(viewOf(running(write, { remaining: 9000 }), times).current[0]?.detail).toBe('9 s left');
    expect(viewOf(running('Installing'), times).current[0]?.detail).toBe('');
  });
});
