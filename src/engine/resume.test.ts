import { describe, expect, it } from 'vitest';
import { type JournalHeader, type JournalRecord, renderRecord } from './journal.ts';
import { decideResume, isReused, type StepRecords } from './resume.ts';

const header: JournalHeader = {
  type: 'header',
  v: 1,
  role: 'master',
  version: '1.0.0',
  fingerprint: 'f',
  bootId: 'b',
};
const linesOf = (...records: readonly JournalRecord[]): readonly string[] =>
  records.map((record) => renderRecord(record));

describe('decideResume', () => {
  it.each(['role', 'version', 'fingerprint', 'bootId'] as const)(
    'sets aside the journal of another %s',
    (name) => {
      const decision = decideResume(linesOf({ ...header, [name]: 'another' }), header);
      expect(decision.kind).toBe('set-aside');
    },
  );

  it.each([
    ['is not an entry', '{"type":"dreamed"}'],
    ['has a time out of range', '{"type":"stopped","step":"a/one","at":1e300}'],
  ])('ignores lines after one that %s', (_, bad) => {
    const [first = '', started = '', finished = ''] = linesOf(
      header,
      { type: 'started', step: 'a/one', at: 1 },
      { type: 'finished', step: 'a/one', at: 2, fact: null },
    );
    const decision = decideResume([first, started, bad, finished], header);
    expect(decision).toEqual({ kind: 'resume', past: new Map([['a/one', { state: 'begun' }]]) });
  });
});

describe('isReused', () => {
  const finished: StepRecords = new Map([['a/one', { state: 'finished', fact: null }]]);
  const begun: StepRecords = new Map([['a/one', { state: 'begun' }]]);
  const id = 'a/one';

  it.each([
    ['repeats a step that never began', new Map(), { id }, true, false],
    ['repeats a step that did not finish', begun, { id }, true, false],
    ['repeats a step that finished before data was lost', finished, { id }, false, false],
    ['reuses a finished step once data is lost', finished, { id }, true, true],
    [
      'repeats a finished step whose lock ends with the process',
      finished,
      { id, effect: 'locks' },
      true,
      false,
    ],
    [
      'repeats a finished step that leaves the host',
      finished,
      { id, effect: 'leaves' },
      true,
      false,
    ],
  ] as const)('%s', (...[, past, step, hasStartedWriting, isKept]) => {
    expect(isReused(past, step, hasStartedWriting)).toBe(isKept);
  });
});
