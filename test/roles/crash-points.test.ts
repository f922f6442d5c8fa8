import { describe, expect, it } from 'vitest';
import { crashPointsOf } from './crash-points.ts';

const flushed = (moves: number) => ({ isFlushed: true, moves });
const unflushed = (moves: number) => ({ isFlushed: false, moves });

describe('crashPointsOf', () => {
  it.each([
    ['returns each flushed line', [flushed(0), flushed(0), flushed(3)], [1, 2, 3]],
    ['omits a line that is lost without an effect', [flushed(2), unflushed(2)], [1]],
    ['returns a lost line after an effect', [flushed(2), unflushed(3)], [1, 2]],
    [
      'returns one point for lines that are lost together',
      [flushed(2), unflushed(3), unflushed(3)],
      [1, 2],
    ],
    ['returns a first line without flushed ones', [unflushed(0), unflushed(0)], [1]],
  ])('%s', (...[, marks, lines]) => {
    expect(crashPointsOf(marks, [true])).toEqual(
      lines.map((crashAfter) => ({ crashAfter, losesUnflushed: true })),
    );
  });

  it('returns each line if nothing is lost', () => {
    expect(crashPointsOf([flushed(2), unflushed(2), unflushed(2)], [false])).toHaveLength(3);
  });

  it('returns both kinds of points without duplicates', () => {
    expect(
      crashPointsOf([flushed(2), unflushed(2), unflushed(5), flushed(5)], [false, true]),
    ).toEqual([
      { crashAfter: 1, losesUnflushed: false },
      { crashAfter: 2, losesUnflushed: false },
      { crashAfter: 3, losesUnflushed: false },
      { crashAfter: 3, losesUnflushed: true },
      { crashAfter: 4, losesUnflushed: false },
    ]);
  });
});
