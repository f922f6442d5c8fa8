import { describe, expect, it } from 'vitest';
import { type JournalHeader, type JournalRecord, renderRecord } from './journal.ts';
import { decideResume, decideStep, type Past } from './resume.ts';

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
  it('continues with the journal of the same run', () => {
    const lines = linesOf(
      header,
      { type: 'started', step: 'a/one', at: 1 },
      { type: 'finished', step: 'a/one', at: 2, fact: 7 },
      { type: 'started', step: 'a/two', at: 3 },
    );
    expect(decideResume(lines, header)).toEqual({
      kind: 'resume',
      past: new Map([
        ['a/one', { state: 'finished', fact: 7 }],
        ['a/two', { state: 'begun' }],
      ]),
    });
  });

  it.each(['role', 'version', 'fingerprint', 'bootId'] as const)(
    'sets aside the journal of another %s',
    (name) => {
      const decision = decideResume(linesOf({ ...header, [name]: 'another' }), header);
      expect(decision.kind).toBe('set-aside');
    },
  );

  it('sets aside the journal of a version that differs in its last number', () => {
    const decision = decideResume(linesOf({ ...header, version: '1.0.1' }), header);
    expect(decision).toEqual({
      kind: 'set-aside',
      because: 'the journal is of version 1.0.1',
    });
  });

  it.each([
    ['is no entry', '{"type":"dreamed"}'],
    ['has a time that no date has', '{"type":"stopped","step":"a/one","at":1e300}'],
  ])('believes no line behind one that %s', (_, bad) => {
    const [first = '', started = '', finished = ''] = linesOf(
      header,
      { type: 'started', step: 'a/one', at: 1 },
      { type: 'finished', step: 'a/one', at: 2, fact: null },
    );
    const decision = decideResume([first, started, bad, finished], header);
    expect(decision).toEqual({ kind: 'resume', past: new Map([['a/one', { state: 'begun' }]]) });
  });
});

describe('decideStep', () => {
  const finished: Past = new Map([['a/one', { state: 'finished', fact: null }]]);
  const begun: Past = new Map([['a/one', { state: 'begun' }]]);
  const later: Past = new Map([...finished, ['a/two', { state: 'begun' }]]);
  const id = 'a/one';

  it.each([
    ['never came to', new Map(), { id, rerun: 'probe' }, 'run'],
    ['began and is safe', begun, { id }, 'run'],
    ['began and can be asked', begun, { id, rerun: 'probe' }, 'probe'],
    ['finished', finished, { id }, 'reuse'],
    ['finished and can be asked', finished, { id, rerun: 'probe' }, 'reuse'],
    ['finished, whose work ends with the process', finished, { id, rerun: 'always' }, 'run'],
    ['finished to leave the host', finished, { id, rerun: 'probe', leaves: true }, 'probe'],
    ['finished before what ends it began', finished, { id, freshUntil: 'a/two' }, 'run'],
    ['finished before one that ends it', later, { id, freshUntil: ['a/x', 'a/two'] }, 'reuse'],
    ['finished before what ends it, which began', later, { id, freshUntil: 'a/two' }, 'reuse'],
  ] as const)('a step that an earlier run %s', (...[, past, step, action]) => {
    expect(decideStep(past, step)).toBe(action);
  });
});
