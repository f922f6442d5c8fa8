import { describe, expect, it } from 'vitest';
import { entriesOf, renderEntry } from './journald.ts';

const line = (text: string, priority: number) => ({ text, priority });

describe('entries for journald', () => {
  it('group consecutive lines of the same priority', () => {
    const lines = [line('a', 6), line('b', 6), line('c', 4), line('d', 6)];
    expect(entriesOf(lines).map((entry) => entry.map(({ text }) => text))).toEqual([
      ['a', 'b'],
      ['c'],
      ['d'],
    ]);
  });

  it('are limited to eight, the last one with the highest priority of its lines', () => {
    const lines = Array.from({ length: 40 }, (_, index) =>
      line(`${index}`, index % 2 === 0 ? 6 : 3),
    );
    const entries = entriesOf(lines);
    expect(entries).toHaveLength(8);
    expect(entries.flat()).toEqual(lines);
    expect(renderEntry(entries[7]!)).toMatch(/^PRIORITY=3\n/);
  });

  it('are no longer than the limit of journalctl', () => {
    const lines = ['a', 'b', 'c'].map((letter) => line(letter.repeat(1900), 6));
    expect(entriesOf(lines).map((entry) => entry.length)).toEqual([2, 1]);
  });

  it('have their fields and one MESSAGE for each line', () => {
    const text = renderEntry([line('one\ntwo', 6), line('three', 6)]);
    expect(text).toBe('PRIORITY=6\nTAG=installer\nMESSAGE=one\nMESSAGE=two\nMESSAGE=three\n');
  });
});
