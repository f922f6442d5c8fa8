import { describe, expect, it } from 'vitest';
import { minutes, seconds } from '../../src/model/duration.ts';
import { step } from '../../src/steps/step.ts';
import { fakeHost } from '../support/fake-host.ts';
import { Crash, memoryJournal } from '../support/memory-journal.ts';
import { isSafeToRepeat } from '../support/run-step.ts';

const signal = new AbortController().signal;
const how = { signal, limit: seconds(10) };

describe('the fake host', () => {
  it('throws for an unknown argv and lists the known ones', async () => {
    const host = fakeHost().on(['true']).succeeds();
    await expect(host.exec(['rm', '-rf', '/'], how)).rejects.toThrow(/rm -rf \/\n.*\n {2}true/);
    expect(host.unknown).toEqual([['rm', '-rf', '/']]);
  });
});

describe('the journal in memory', () => {
  it('crashes after an append and keeps the flushed lines', async () => {
    const journal = memoryJournal([], { crashAfter: 2, losesUnflushed: true });
    await journal.append('one', { flush: true });
    await expect(journal.append('two', { flush: false })).rejects.toBeInstanceOf(Crash);
    await expect(journal.append('three', { flush: true })).rejects.toBeInstanceOf(Crash);
    await expect(journal.read()).resolves.toEqual(['one']);
  });
});

it('isSafeToRepeat refuses a step that appends', async () => {
  const adding = step({
    id: 'test/add',
    title: 'Append to a file',
    uses: ['host'],
    limit: minutes(1),
    run: async ({ host, signal: inner }) => {
      const before = (await host.readText('/log', inner)) ?? '';
      await host.writeFile('/log', `${before}x`, { signal: inner });
    },
  });
  await expect(isSafeToRepeat(adding, () => ({ host: fakeHost() }))).rejects.toThrow(/run twice/);
});
