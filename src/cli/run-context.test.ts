import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import type { RunEvent } from '../engine/events.ts';
import { addressIn, eventHub } from './run-context.ts';

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
