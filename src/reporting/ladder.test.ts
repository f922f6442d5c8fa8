import { describe, expect, it } from 'vitest';
import type { RunEvent, RunEventBody } from '../engine/events.ts';
import { progressed, started, waited, waiting } from '../../test/support/run-events.ts';
import { Ladder, type StageReport } from './ladder.ts';

const read = (
  name: ConstructorParameters<typeof Ladder>[0],
  bodies: readonly RunEventBody[],
): readonly (readonly [string, string])[] => {
  const ladder = new Ladder(name);
  return bodies
    .map((body): StageReport | undefined =>
      ladder.read({ ...body, at: 0, run: 'r' } satisfies RunEvent),
    )
    .filter((report) => report !== undefined)
    .map(({ stage, info }) => [stage, info] as const);
};

type Row = readonly [string, readonly RunEventBody[], readonly (readonly [string, string])[]];

const percent = (value: number, lane?: string): RunEventBody =>
  progressed('image/write', value, lane === undefined ? {} : { lane });

it('restores the text of the shown stage after a wait, even if its lane has ended', () => {
  expect(
    read('bootstrap', [
      started('host/confirm', 'Installing', { stageInfo: 'master' }),
      {
        type: 'lanes.started',
        staged: [{ lane: 'cluster', first: 'Waiting for control plane' }],
      },
      started('c/masters', 'Waiting for control plane', { lane: 'cluster', stageInfo: 'masters' }),
      started('c/event', 'Waiting for controller', { lane: 'cluster', stageInfo: 'pod event' }),
      { type: 'lane.finished', lane: 'cluster' },
      waiting('a/waits', 'no answer'),
      waited('a/waits'),
      started('next/step'),
    ]),
  ).toEqual([
    ['Installing', 'master'],
    ['Waiting for control plane', 'masters'],
    ['Waiting for controller', 'pod event'],
    ['Waiting for controller', 'no answer'],
    ['Waiting for controller', 'pod event'],
  ]);
});

describe('a ladder without lanes', () => {
  it.each<Row>([
    [
      'each stage once with its text',
      [
        started('host/prepare', 'Starting installation', { stageInfo: 'master' }),
        started('disk/resolve'),
        started('ignition/fetch', 'Installing', { stageInfo: 'master' }),
        started('image/write', 'Writing image to disk'),
      ],
      [
        ['Starting installation', 'master'],
        ['Installing', 'master'],
        ['Writing image to disk', ''],
      ],
    ],
    [
      'no lower stage',
      [started('a/b', 'Writing image to disk'), started('c/d', 'Starting installation')],
      [['Writing image to disk', '']],
    ],
    [
      'only the last stage of reused steps, with the next event',
      [
        { type: 'step.reused', step: 'a/b', title: 'A', stage: 'Installing', stageInfo: 'master' },
        { type: 'step.reused', step: 'c/d', title: 'C', stage: 'Writing image to disk' },
        started('disk/resolve'),
        started('finish/leave', 'Rebooting'),
      ],
      [
        ['Writing image to disk', ''],
        ['Rebooting', ''],
      ],
    ],
    [
      'the stage of reused steps at the end of the run',
      [
        { type: 'step.reused', step: 'a/b', title: 'A', stage: 'Rebooting', stageInfo: '' },
        { type: 'run.finished', outcome: 'left the host', duration: 1 },
      ],
      [['Rebooting', '']],
    ],
  ])('reports %s', (_, bodies, reports) => {
    expect(read('master', bodies)).toEqual(reports);
  });

  it.each([
    ['steps of five points', [55, 55, 60, 62, 56, 66], ['55%', '60%', '66%']],
    ['98 and then 100', [98, 100, 100], ['98%', '100%']],
    ['no percentage below five', [1, 4], []],
  ])('reports %s', (_, values, reported) => {
    const shown = read('master', [
      started('image/write', 'Writing image to disk'),
      ...values.map((value) => percent(value)),
    ]);
    expect(shown.slice(1).map(([, info]) => info)).toEqual(reported);
  });

  const missing = (status: string): RunEventBody => waiting('a/waits', status);
  const reached = waited('a/waits');
  const stage = started('a/waits', 'Waiting for bootkube', { stageInfo: 'waits' });

  it.each([
    [
      'restores the text of the stage at the step after a finished wait',
      [started('b/works')],
      'waits',
    ],
    [
      'replaces the text of a finished wait by that of the next wait',
      [started('b/works'), missing('the next')],
      'the next',
    ],
    [
      'does not carry the text of a finished wait to the next stage',
      [started('b/works', 'Waiting for controller')],
      '',
    ],
  ])('%s', (_, after, info) => {
    const shown = read('bootstrap', [stage, missing('not listed yet'), reached, ...after]);
    expect(shown.at(1)).toEqual(['Waiting for bootkube', 'not listed yet']);
    expect(shown.at(-1)?.[1]).toBe(info);
  });

  it('keeps the text of an unfinished wait and of progress after a wait', () => {
    const shown = (...bodies: readonly RunEventBody[]) =>
      read('bootstrap', [stage, ...bodies, started('b/works')]).at(-1)?.[1];
    expect(shown(missing('not listed yet'))).toBe('not listed yet');
    expect(shown(missing('not listed yet'), reached, percent(60))).toBe('60%');
  });

  it('reports the text of a second attempt and only percentages above those of the first', () => {
    const again = progressed('image/write', 'again from the start, about 3 min left');
    const shown = read('master', [
      started('image/write', 'Writing image to disk'),
      percent(60),
      started('image/write', 'Writing image to disk', { attempt: 2 }),
      ...[again, again, percent(62), percent(65)],
    ]);
    expect(shown.map(([, info]) => info)).toEqual([
      ...['', '60%', '', 'again from the start, about 3 min left', '65%'],
    ]);
  });

  it('does not report a retried request', () => {
    const retried = waiting('a/waits', '503, attempt 1', { attempt: 1 });
    expect(read('bootstrap', [stage, retried, { ...reached, attempt: 2 }])).toEqual([
      ['Waiting for bootkube', 'waits'],
    ]);
  });
});

describe('a ladder with lanes', () => {
  const before = started('a/b', 'Starting installation', { stageInfo: 'bootstrap' });
  const fork: RunEventBody = {
    type: 'lanes.started',
    staged: [
      { lane: 'disk', first: 'Installing' },
      { lane: 'control plane', first: 'Waiting for control plane' },
    ],
  };

  it.each<Row>([
    [
      'reports the lowest stage of the lanes',
      [
        started('image/write', 'Writing image to disk', { lane: 'disk' }),
        started('wait/masters', 'Waiting for control plane', { lane: 'control plane' }),
        percent(37, 'disk'),
        { type: 'lane.finished', lane: 'disk' },
      ],
      [
        ['Writing image to disk', ''],
        ['Writing image to disk', '37%'],
        ['Waiting for control plane', ''],
      ],
    ],
    [
      'reports a lane immediately when the other lanes begin at higher stages',
      [
        started('ignition/fetch', 'Installing', { lane: 'disk', stageInfo: 'master' }),
        percent(7, 'control plane'),
      ],
      [['Installing', 'master']],
    ],
    [
      'does not report a higher stage while another lane has not reached its first stage',
      [
        started('wait/masters', 'Waiting for control plane', { lane: 'control plane' }),
        started('ignition/fetch', 'Installing', { lane: 'disk', stageInfo: 'master' }),
      ],
      [['Installing', 'master']],
    ],
  ])('%s', (_, bodies, reports) => {
    expect(read('bootstrap', [before, fork, ...bodies]).slice(1)).toEqual(reports);
  });

  it('reports what the last remaining lane waits for before its first stage', () => {
    const ahead = 'Waiting for bootstrap node preparation';
    expect(
      read('bootstrap', [
        before,
        {
          type: 'lanes.started',
          staged: [
            { lane: 'disk', first: 'Installing' },
            { lane: 'cluster', first: 'Waiting for control plane', ahead },
          ],
        },
        started('image/write', 'Writing image to disk', { lane: 'disk' }),
        { type: 'lane.finished', lane: 'disk' },
        started('wait/masters', 'Waiting for control plane', { lane: 'cluster', stageInfo: 'm' }),
      ]).slice(1),
    ).toEqual([
      ['Writing image to disk', ''],
      ['Waiting for control plane', ahead],
      ['Waiting for control plane', 'm'],
    ]);
  });

  it('is not held back by a lane without stages', () => {
    expect(
      read('bootstrap', [
        before,
        {
          type: 'lanes.started',
          staged: [{ lane: 'masters', first: 'Waiting for control plane' }],
        },
        started('layering/build', undefined, { lane: 'layering' }),
        started('wait/masters', 'Waiting for control plane', { lane: 'masters' }),
      ]).at(-1),
    ).toEqual(['Waiting for control plane', '']);
  });
});
