import { expect, it } from 'vitest';
import type { RunHappening } from '../engine/events.ts';
import { minutes, seconds } from '../model/duration.ts';
import { terminalLineOf } from './terminal-line.ts';

it('shows what a step waits for, and no longer than it does', () => {
  const line = terminalLineOf();
  const show = (happening: RunHappening) => line({ ...happening, at: 0, run: 'r' });
  const who = { step: 'image/overwrite-os' };
  const sentence = 'the config can be read';
  show({ type: 'step.started', ...who, title: 'Write the system', attempt: 1 });
  const waiting = { status: 'it is held back', waited: seconds(5), limit: minutes(20) };
  expect(show({ type: 'wait.updated', ...who, sentence, ...waiting })).toBe(
    'Write the system  it is held back, waited 5 s of 20 min',
  );
  expect(show({ type: 'wait.finished', ...who, sentence, waited: seconds(9) })).toBe(
    'Write the system',
  );
  const progress = { info: 'deploying x' };
  expect(show({ type: 'step.progress', ...who, progress })).toBe('Write the system  deploying x');
});
