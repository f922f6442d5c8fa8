import { describe, expect, it } from 'vitest';
import type { Progress, RunEvent } from '../engine/events.ts';
import { seconds } from '../model/duration.ts';
import { risingPercent } from './rising-percent.ts';

const event = (progress: Progress, step = 'image/write'): RunEvent => ({
  type: 'step.progress',
  step,
  progress,
  at: 0,
  run: 'r',
});

/** Returns what is shown for each progress. */
const shown = (...all: readonly Progress[]): readonly Progress[] => {
  const rising = risingPercent();
  return all.map((progress) => {
    const after = rising(event(progress));
    return after.type === 'step.progress' ? after.progress : { info: after.type };
  });
};

const at = (percent: number, remaining?: number): Progress => ({
  info: `${percent}%`,
  percent,
  ...(remaining !== undefined && { remaining }),
});

describe('the percentage of a step', () => {
  it('is omitted while an attempt is behind the last one', () => {
    expect(shown(at(60), at(3), at(59), at(60), at(61))).toEqual([
      at(60),
      { info: 'again from the start' },
      { info: 'again from the start' },
      at(60),
      at(61),
    ]);
  });

  it('is replaced by the remaining minutes', () => {
    const [, second] = shown(at(60), at(3, seconds(130)));
    expect(second).toEqual({
      info: 'again from the start, about 3 min left',
      remaining: seconds(130),
    });
  });

  it('leaves free text unchanged', () => {
    const [, second] = shown(at(60), { info: 'layer 2 of 3', percent: 3 });
    expect(second).toEqual({ info: 'layer 2 of 3' });
  });

  it('is tracked separately for each step', () => {
    const rising = risingPercent();
    rising(event(at(60)));
    expect(rising(event(at(3), 'other/copy'))).toEqual(event(at(3), 'other/copy'));
  });
});
