import { describe, expect, it } from 'vitest';
import { runLanes } from './lanes.ts';

/** Runs jobs that are as long as their number; tells when each began and in which order they ended. */
async function played(lanes: readonly (readonly number[])[]): Promise<unknown> {
  let now = 0;
  const began: string[] = [];
  const running: { readonly until: number; readonly end: () => void }[] = [];
  const all = runLanes(lanes, (job) => {
    began.push(`${now}: ${job}`);
    return new Promise<number>((resolve) => {
      running.push({ until: now + job, end: () => resolve(job) });
    });
  });
  for (;;) {
    const [first] = running.sort((one, other) => one.until - other.until);
    if (first === undefined) return { began, ended: await all, now };
    running.shift();
    now = first.until;
    first.end();
    for (let hop = 0; hop < 5; hop += 1) await Promise.resolve();
  }
}

describe('lanes', () => {
  it('do their jobs in turn, beside each other', async () => {
    expect(await played([[3, 2], [4]])).toEqual({
      began: ['0: 3', '0: 4', '3: 2'],
      ended: [3, 4, 2],
      now: 5,
    });
  });

  it('help each other from the end', async () => {
    expect(await played([[9], [5, 4, 3, 1]])).toEqual({
      began: ['0: 9', '0: 5', '5: 4', '9: 1', '9: 3'],
      ended: [5, 9, 4, 1, 3],
      now: 12,
    });
  });

  it('that are one do one job at a time', async () => {
    expect(await played([[1, 2]])).toEqual({ began: ['0: 1', '1: 2'], ended: [1, 2], now: 3 });
  });

  it('fail with a job that fails', async () => {
    const failing = runLanes([[1]], () => Promise.reject(new RangeError('no')));
    await expect(failing).rejects.toThrow(RangeError);
  });
});
