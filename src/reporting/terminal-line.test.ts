import { describe, expect, it } from 'vitest';
import type { RunEventBody } from '../engine/events.ts';
import { minutes, seconds } from '../model/duration.ts';
import { terminalLineOf } from './terminal-line.ts';

const who = { step: 'image/overwrite-os' };
const sentence = 'the config can be read';
const missing = { status: 'it is held back', waited: seconds(5), limit: minutes(20) };
const wait: RunEventBody = { type: 'wait.updated', ...who, sentence, ...missing };
const end: RunEventBody = {
  type: 'wait.finished',
  ...who,
  sentence,
  isReached: true,
  waited: seconds(9),
};

function lineOf() {
  const line = terminalLineOf();
  const show = (body: RunEventBody) => line({ ...body, at: 0, run: 'r' });
  show({ type: 'step.started', ...who, title: 'Write the system', attempt: 1 });
  return show;
}

describe('the line of a terminal', () => {
  it('shows what a step waits for, and no longer than it does', () => {
    const show = lineOf();
    expect(show(wait)).toBe(
      'Write the system  waits until the config can be read: it is held back, for 5 s of at most 20 min',
    );
    expect(show(end)).toBe('Write the system');
    const progress = { info: 'deploying x' };
    expect(show({ type: 'step.progress', ...who, progress })).toBe('Write the system  deploying x');
  });

  it('continues showing the wait of another lane', () => {
    const show = lineOf();
    show(wait);
    const other = { step: 'cluster/wait-for-masters', title: 'Wait for masters' };
    show({ type: 'step.started', ...other, attempt: 1 });
    show({ ...wait, step: other.step, status: '0 of 2' });
    expect(show(end)).toBeUndefined();
  });
});
