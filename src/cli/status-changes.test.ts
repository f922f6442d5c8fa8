import { describe, expect, it } from 'vitest';
import { runStatus } from '../../test/support/run-status.ts';
import type { RunStatus } from '../reporting/run-status.ts';
import { isHostInstalled, statusChanges } from './status-changes.ts';

const step = { step: 'image/write', title: 'Write the image', since: 0, attempt: 1 };
const status = runStatus({ running: [step] });
const begins = 'master, bootwright 1.1.0: 3 of 20 steps ended';
const at = (percent: number, info = `${percent}%`): RunStatus => ({
  ...status,
  running: [{ ...step, percent, info }],
});
const waiting = (text: string): RunStatus => ({
  ...status,
  running: [{ ...step, wait: { sentence: 'it is up', status: text, since: 0, limit: 9 } }],
});
const again: RunStatus = { ...status, running: [{ ...step, attempt: 2 }] };
const failed: RunStatus = { ...status, state: 'failed', running: [], reason: 'a.b: m; h' };

type Case = readonly [before: RunStatus | undefined, now: RunStatus, lines: readonly string[]];

it.each<[string, Case]>([
  ['the first status', [undefined, status, [begins, 'image/write: Write the image']]],
  ['another run', [{ ...status, run: 'q' }, status, [begins, 'image/write: Write the image']]],
  ['another attempt', [at(50), again, ['image/write: Write the image, attempt 2']]],
  ['less than a tenth', [at(41), at(49), []]],
  ['a tenth', [at(49), at(50), ['image/write: 50%']]],
  ['a tenth with a text', [at(49), at(61, 'flushing'), ['image/write: 61%, flushing']]],
  ['a percentage that becomes unknown', [at(50), status, []]],
  ['a wait', [status, waiting('0 of 2'), ['image/write: waits until it is up: 0 of 2']]],
  ['a wait that changes', [waiting('0'), waiting('1'), ['image/write: waits until it is up: 1']]],
  ['a wait that ended', [waiting('0'), status, []]],
  ['a failure', [status, failed, ['failed: a.b: m; h']]],
  ['the end', [status, { ...status, state: 'left the host', running: [] }, ['left the host']]],
])('statusChanges describes %s', (_, [before, now, lines]) => {
  expect(statusChanges(before, now)).toEqual(lines);
});

it('strips control characters from external texts', () => {
  const [line] = statusChanges(status, waiting('\u001b[2Jx\ny'));
  expect(line).toBe('image/write: waits until it is up: x y');
});

describe('isHostInstalled', () => {
  it.each<[RunStatus['state'], boolean]>([
    ['running', false],
    ['finished', true],
    ['left the host', true],
  ])('for the state %s returns %s', (state, is) => {
    expect(isHostInstalled('this host', { ...status, state })).toBe(is);
  });

  it.each(['failed', 'stopped'] as const)('for the state %s throws with its reason', (state) => {
    expect(() => isHostInstalled('this host', { ...failed, state })).toThrow(
      expect.objectContaining({
        code: 'cli.not-installed',
        message: `this host ${state}: a.b: m; h`,
      }),
    );
  });
});
