import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import type { RunEvent, Progress } from '../engine/events.ts';
import { seconds } from '../model/duration.ts';
import { addressIn, eventHub, risingPercent } from './run-context.ts';

describe('eventHub', () => {
  it('masks texts before it truncates them, but not types and ids', () => {
    const mask = (text: string): string =>
      text.replaceAll('secret', '***').replaceAll('note', '***');
    const hub = eventHub(fakeClock(), 'r', mask);
    const seen: RunEvent[] = [];
    hub.add((event) => seen.push(event));
    const message = `${'x'.repeat(16_380)}secret`;
    hub.emit({ type: 'note', step: 'a/note', level: 'info', message, fields: { of: 'secret' } });
    expect(seen).toEqual([
      {
        type: 'note',
        step: 'a/note',
        level: 'info',
        at: 0,
        run: 'r',
        message: `${'x'.repeat(16_380)}***`,
        fields: { of: '***' },
      },
    ]);
  });

  it('omits a percentage below an earlier one', () => {
    const hub = eventHub(fakeClock(), 'r');
    const seen: (number | undefined)[] = [];
    hub.add((event) => {
      if (event.type === 'step.progress') seen.push(event.progress.percent);
    });
    for (const percent of [60, 3, 61]) {
      const progress = { info: `${percent}%`, percent };
      hub.emit({ type: 'step.progress', step: 'image/write', progress });
    }
    expect(seen).toEqual([60, undefined, 61]);
  });

  it('drops a sink that throws, emits one note and continues with the others', () => {
    const hub = eventHub(fakeClock(), 'r');
    const seen: RunEvent[] = [];
    let calls = 0;
    hub.add(() => {
      calls += 1;
      throw new Error('the terminal is gone');
    });
    hub.add((event) => seen.push(event));
    hub.emit({ type: 'lane.finished', lane: 'disk' });
    hub.emit({ type: 'lane.finished', lane: 'cluster' });
    expect(calls).toBe(1);
    expect(seen).toMatchObject([
      { type: 'lane.finished', lane: 'disk' },
      { type: 'note', level: 'warn', fields: { reason: 'the terminal is gone' } },
      { type: 'lane.finished', lane: 'cluster' },
    ]);
  });
});

it('addressIn refuses an invalid address and returns undefined for an empty one', () => {
  expect(addressIn('--metrics', '')).toBeUndefined();
  expect(() => addressIn('--metrics', '8080')).toThrow(
    expect.objectContaining({ code: 'cli.bad-flag', kind: 'input' }),
  );
});

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
