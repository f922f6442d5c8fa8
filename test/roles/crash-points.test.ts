import { describe, expect, it } from 'vitest';
import { crashPointsOf } from './crash-points.ts';

const flushed = (moves: number) => ({ isFlushed: true, moves });
const unflushed = (moves: number) => ({ isFlushed: false, moves });

describe('the ways to die', () => {
  it.each([
    ['are one for each line that is flushed', [flushed(0), flushed(0), flushed(3)], [1, 2, 3]],
    ['leave out a line that is lost before anything came of it', [flushed(2), unflushed(2)], [1]],
    ['keep one that is lost when the world has moved on', [flushed(2), unflushed(3)], [1, 2]],
    ['are one for lines that are lost together', [flushed(2), unflushed(3), unflushed(3)], [1, 2]],
    ['keep a line before which nothing was flushed', [unflushed(0), unflushed(0)], [1]],
  ])('%s', (...[, marks, lines]) => {
    expect(crashPointsOf(marks, [true])).toEqual(
      lines.map((crashAfter) => ({ crashAfter, losesUnflushed: true })),
    );
  });

  it('are one for each line where nothing is lost', () => {
    expect(crashPointsOf([flushed(2), unflushed(2), unflushed(2)], [false])).toHaveLength(3);
  });

  it('are those of both kinds, where both are asked for, without those that are alike', () => {
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
