import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../test/support/fake-clock.ts';
import type { RunEvent } from '../engine/events.ts';
import { eventHub } from './run-context.ts';

describe('the hub of a run', () => {
  it('drops a sink that throws, says so once, and goes on with the others', () => {
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
