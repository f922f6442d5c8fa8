import { describe, expect, it } from 'vitest';
import { runProbe } from './own-pid-one.ts';

describe('a command behind the real nsenter', () => {
  it.each([
    { what: 'the signal aborts and it ends on SIGTERM', how: 'abort', manner: 'obeys' },
    { what: 'the signal aborts and it ignores SIGTERM', how: 'abort', manner: 'ignores' },
    { what: 'its limit passes and it ignores SIGTERM', how: 'limit', manner: 'ignores' },
  ])('is killed with its children when $what', async ({ how, manner }) => {
    const code = how === 'abort' ? 'command.stopped' : 'command.timed-out';
    const seen = await runProbe<{ code: string; before: number; left: string[] }>(
      ...(['stop', how, manner] as const),
    );
    expect(seen.before).toBeGreaterThanOrEqual(2);
    expect(seen).toMatchObject({ code, left: [] });
  });

  it('has a clean environment and no input, and its ways to end are distinguished', async () => {
    const seen = await runProbe<{ environment: string[] }>('inspect');
    expect(seen).toMatchObject({
      stdin: '',
      missing: 'command.not-found',
      answers127: 'command.failed',
      killed: 'command.failed',
      etcRoundTrip: 'seen by commands alone\n',
    });
    expect(seen.environment.map((line) => line.split('=')[0])).toEqual([
      'HOME',
      'LC_ALL',
      'PATH',
      'TERM',
    ]);
  });
});

describe('a lock on the host', () => {
  it('is held by the writer of a killed agent until the writer has ended', async () => {
    const seen = await runProbe('killed-writer');
    expect(seen).toEqual({
      outlivesAgent: true,
      whileWriting: 'refused',
      second: 'command.failed',
      after: 'held',
    });
  });
});
