import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/engine/events.ts';
import { idleOf } from './idle.ts';

const started = (step: string, at: number): RunEvent => ({
  type: 'step.started',
  step,
  title: step,
  attempt: 1,
  at,
  run: 'r',
});
const finished = (step: string, at: number): RunEvent => ({
  type: 'step.finished',
  step,
  duration: 0,
  at,
  run: 'r',
});
const ran = (step: string, from: number, to: number): readonly RunEvent[] => [
  started(step, from),
  finished(step, to),
];

describe('idle time', () => {
  it.each([
    {
      name: 'from the mark to the end of the wait',
      marks: [{ step: 'wait', readyAt: 40 }],
      events: ran('wait', 0, 50),
      millis: 10,
    },
    {
      name: 'from the start of the wait where nothing was missing by then',
      marks: [{ step: 'wait', readyAt: 5 }],
      events: ran('wait', 20, 50),
      millis: 30,
    },
    {
      name: 'none where the mark came after the end',
      marks: [{ step: 'wait', readyAt: 60 }],
      events: ran('wait', 0, 50),
      millis: 0,
    },
    {
      name: 'from the last mark before the end',
      marks: [
        { step: 'wait', readyAt: 10 },
        { step: 'wait', readyAt: 45 },
        { step: 'wait', readyAt: 90 },
      ],
      events: ran('wait', 0, 50),
      millis: 5,
    },
    {
      name: 'not while another step works',
      marks: [{ step: 'wait', readyAt: 10 }],
      events: [...ran('write', 0, 40), ...ran('wait', 0, 50)],
      millis: 10,
    },
    {
      name: 'once where two waits could have ended',
      marks: [
        { step: 'wait', readyAt: 10 },
        { step: 'other', readyAt: 20 },
      ],
      events: [...ran('wait', 0, 50), ...ran('other', 0, 60)],
      millis: 50,
    },
    {
      name: 'none of a step that never ended',
      marks: [{ step: 'wait', readyAt: 10 }],
      events: [started('wait', 0)],
      millis: 0,
    },
  ])('counts $name', ({ marks, events, millis }) => {
    expect(idleOf(marks, events).millis).toBe(millis);
  });

  it('is told for each step', () => {
    const marks = [
      { step: 'a', readyAt: 5 },
      { step: 'b', readyAt: 25 },
    ];
    const events = [...ran('a', 0, 10), ...ran('b', 10, 26)];
    expect(idleOf(marks, events).steps).toEqual([
      { step: 'a', millis: 5 },
      { step: 'b', millis: 1 },
    ]);
  });
});
