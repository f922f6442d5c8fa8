import { describe, expect, it } from 'vitest';
import type { RunEventBody } from '../engine/events.ts';
import { minutes } from '../model/duration.ts';
import type { Stage } from '../model/stage.ts';
import { progressed, started, waiting } from '../../test/support/run-events.ts';
import { Ladder } from './ladder.ts';

type Timed = readonly [at: number, body: RunEventBody];

/** Returns the reports to the service with their minutes. */
const read = (
  name: ConstructorParameters<typeof Ladder>[0],
  events: readonly Timed[],
): readonly (readonly [number, string])[] => {
  const ladder = new Ladder(name);
  return events.flatMap(([at, body]) => {
    const report = ladder.read({ ...body, at: minutes(at), run: 'r' });
    return report === undefined ? [] : [[at, report.info] as const];
  });
};

const begins = (stage: Stage, lane?: string): RunEventBody =>
  started(`a/${stage}`, stage, lane === undefined ? {} : { lane });
const status = (text: string): RunEventBody => waiting('a/wait', text);
const alive = (doing?: string, lane?: string): RunEventBody => ({
  type: 'step.alive',
  step: 'a/work',
  ...(doing !== undefined && { doing }),
  ...(lane !== undefined && { lane }),
});

/** Repeats an event every minute. */
const eachMinute = (from: number, to: number, body: RunEventBody): readonly Timed[] =>
  Array.from({ length: to - from }, (_, index) => [from + index, body] as const);

describe('the heartbeat', () => {
  it.each([
    ['Writing image to disk', [10, 20, 30, 40, 50, 60]],
    ['Waiting for control plane', [20, 40, 60]],
    ['Copying registry data to disk', [30, 60]],
  ] as const)('of %s is sent three times within the limit of the stage', (stage, beats) => {
    const reports = read('bootstrap', [[0, begins(stage)], ...eachMinute(1, 65, alive('copying'))]);
    const times = reports.slice(1).map(([at]) => at);
    expect(times.filter((at) => at <= 62)).toEqual(beats);
  });

  it('reports the current work and its duration', () => {
    const reports = read('master', [
      [0, begins('Writing image to disk')],
      ...eachMinute(5, 30, alive('deploying the image')),
    ]);
    expect(reports.slice(1)).toEqual([
      [10, 'deploying the image (5 min)'],
      [20, 'deploying the image (15 min)'],
    ]);
  });

  it('repeats the last text when the work has none', () => {
    const reports = read('worker', [
      [0, begins('Waiting for control plane')],
      [1, status('1 of 2')],
      ...eachMinute(2, 30, alive()),
    ]);
    expect(reports.slice(1)).toEqual([
      [1, '1 of 2'],
      [21, '1 of 2 (20 min)'],
    ]);
  });

  it('is not sent soon after another report', () => {
    const news = Array.from({ length: 12 }, (_, index) => [
      [5 * index, status(`${index} of 12`)] as const,
      [5 * index + 4, alive()] as const,
    ]).flat();
    const reports = read('master', [[0, begins('Writing image to disk')], ...news]);
    expect(reports.filter(([, info]) => info.includes('min'))).toEqual([]);
  });

  it('is sent immediately after the clock of the host was set back', () => {
    const reports = read('master', [
      [600, begins('Writing image to disk')],
      [2, alive('copying')],
    ]);
    expect(reports).toHaveLength(2);
  });

  it('is sent only for the lane whose stage is shown', () => {
    const fork: RunEventBody = {
      type: 'lanes.started',
      staged: [
        { lane: 'disk', first: 'Writing image to disk' },
        { lane: 'cluster', first: 'Waiting for control plane' },
      ],
    };
    const lanes: readonly Timed[] = [
      [0, fork],
      [0, begins('Writing image to disk', 'disk')],
      [0, begins('Waiting for control plane', 'cluster')],
    ];
    expect(read('bootstrap', [...lanes, [50, alive('x', 'cluster')]])).toHaveLength(1);
    expect(read('bootstrap', [...lanes, [50, alive('x', 'other')]])).toHaveLength(1);
    expect(read('bootstrap', [...lanes, [50, alive('x', 'disk')]])).toHaveLength(2);
  });
});

describe('repeated texts', () => {
  const flapping = (from: number, to: number): readonly Timed[] =>
    Array.from({ length: to - from }, (_, index) => [
      from + index,
      status(index % 2 === 0 ? 'bootkube failed' : 'bootkube runs'),
    ]);

  it('are reported only within the first half of the limit of the stage', () => {
    const reports = read('bootstrap', [[0, begins('Waiting for bootkube')], ...flapping(1, 600)]);
    expect(reports.at(-1)?.[0]).toBeLessThanOrEqual(31);
    expect(reports.length).toBeGreaterThan(20);
  });

  it('are reported again after progress', () => {
    const reports = read('bootstrap', [
      [0, begins('Waiting for bootkube')],
      ...flapping(1, 120),
      [120, status('etcd is up')],
      [121, status('bootkube runs')],
    ]);
    expect(reports.slice(-2)).toEqual([
      [120, 'etcd is up'],
      [121, 'bootkube runs'],
    ]);
  });

  it('are reported while the work is alive', () => {
    const events = flapping(1, 600).flatMap(([at, body]) => [
      [at, body] as const,
      [at, alive()] as const,
    ]);
    const reports = read('worker', [[0, begins('Waiting for control plane')], ...events]);
    expect(reports.at(-1)?.[0]).toBe(599);
  });
});

describe('the percentages of a step', () => {
  const building = (at: number, of: number): RunEventBody => ({
    type: 'step.progress',
    step: 'layering/build-images',
    progress: {
      info: `Building OS image of master: step ${at} of ${of}`,
      percent: Math.floor(((at - 1) * 100) / of),
    },
  });
  const written: readonly Timed[] = [
    [0, begins('Writing image to disk')],
    [1, progressed('image/write', 98)],
    [2, progressed('image/write', 100)],
  ];

  it('do not suppress lower ones of a later build, whose steps are all reported', () => {
    const reports = read('bootstrap', [
      ...written,
      ...Array.from({ length: 14 }, (_, index) => [3 + index, building(index + 1, 14)] as const),
    ]);
    expect(reports.filter(([, info]) => info.startsWith('Building OS image'))).toHaveLength(14);
  });

  it('start again with the next step of the same stage', () => {
    const reports = read('bootstrap', [...written, [3, progressed('other/copy', 7)]]);
    expect(reports.at(-1)).toEqual([3, '7%']);
  });
});
