import { describe, expect, it } from 'vitest';
import { failureIn } from './failure-log.ts';

const end = { exitCode: 4, signal: undefined };

describe('the failure in the log of an agent', () => {
  it.each([
    {
      name: 'the three lines',
      log: '{"level":"info"}\nfailed: disk.busy: /dev/sda is busy: x\nwhy: y\nnext: z\n',
      failure: { code: 'disk.busy', message: '/dev/sda is busy: x' },
    },
    { name: 'a crash', log: 'boom\n', failure: { code: 'exit 4', message: 'boom' } },
  ])('$name', ({ log, failure }) => {
    expect(failureIn(log, end)).toEqual(failure);
  });

  it('names the signal that ended it', () => {
    expect(failureIn('', { exitCode: undefined, signal: 'SIGKILL' }).code).toBe('exit SIGKILL');
  });
});
