import { describe, expect, it } from 'vitest';
import { type JournalEntry, parseJournal } from '../engine/journal.ts';
import { renderJournalJson, renderJournalText } from './status.ts';

const header = {
  type: 'header',
  v: 1,
  role: 'worker',
  version: '0.1.0',
  fingerprint: 'f'.repeat(64),
  bootId: 'b',
} as const;

const entries: readonly JournalEntry[] = [
  { type: 'started', step: 'disk/clean', at: 0 },
  { type: 'failed', step: 'disk/clean', at: 500, code: 'disk.busy', message: 'in use' },
  { type: 'started', step: 'disk/clean', at: 1000 },
  { type: 'finished', step: 'disk/clean', at: 3000, fact: null },
  { type: 'started', step: 'image/write', at: 3000 },
  { type: 'stopped', step: 'image/write', at: 4000 },
  { type: 'started', step: 'logs/upload', at: 5000 },
];

const stepsOf = (of: readonly JournalEntry[]): unknown =>
  (JSON.parse(renderJournalJson({ header, entries: of })) as { steps: unknown }).steps;

describe('renderJournalJson', () => {
  it('lists the last state of each step in the order of the run', () => {
    expect(stepsOf(entries)).toEqual([
      { step: 'disk/clean', state: 'finished', attempts: 2, since: 1000, duration: 2000 },
      { step: 'image/write', state: 'stopped', attempts: 1, since: 3000, duration: 1000 },
      { step: 'logs/upload', state: 'running', attempts: 1, since: 5000 },
    ]);
  });

  it('reports a duration of 0 when the clock was set back', () => {
    const back: readonly JournalEntry[] = [
      { type: 'started', step: 'disk/clean', at: 9_000_000 },
      { type: 'finished', step: 'disk/clean', at: 5000, fact: null },
    ];
    expect(stepsOf(back)).toMatchObject([{ duration: 0 }]);
  });

  it('shows code and message of a failure', () => {
    expect(stepsOf(entries.slice(0, 2))).toMatchObject([
      { state: 'failed', failure: 'disk.busy: in use' },
    ]);
  });
});

describe('parseJournal and renderJournalText', () => {
  it.each([1e300, -1])('ends before an entry with the invalid time %d', (at) => {
    const [first] = entries;
    const lines = [header, first, { type: 'started', step: 'image/write', at }];
    const read = parseJournal(lines.map((line) => JSON.stringify(line)));
    expect(read?.entries).toEqual([first]);
  });

  it('has a line for the run and one for each step', () => {
    const lines = renderJournalText({ header, entries }).trimEnd().split('\n');
    expect(lines).toEqual([
      'worker, bootwright 0.1.0, boot b, configuration ffffffffffff',
      '✓ 1970-01-01T00:00:01.000Z  disk/clean   finished, 2 s, started 2 times',
      '· 1970-01-01T00:00:03.000Z  image/write  stopped, 1 s',
      '… 1970-01-01T00:00:05.000Z  logs/upload  did not finish',
    ]);
  });
});
