import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fact } from '../../src/engine/fact.ts';
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

describe('isSafeToRepeat', () => {
  const Size = fact('test.size', z.object({ bytes: z.number() }));
  const measure = step({
    id: 'test/measure',
    title: 'Measure the disk',
    uses: ['host'],
    gives: Size,
    limit: minutes(1),
    run: async ({ host, signal: inner, progress }) => {
      const { stdout } = await host.exec(['size'], { signal: inner, limit: seconds(1) });
      progress({ info: 'half' });
      await host.writeFile('/size', stdout, { signal: inner });
      await host.exec(['sync'], { signal: inner, limit: seconds(1) });
      return { bytes: Number(stdout) };
    },
  });
  const fresh = () => fakeHost().on(['size']).prints('512\n').on(['sync']).succeeds();

  it('refuses a step that appends', async () => {
    const adding = step({
      ...measure,
      id: 'test/add',
      run: async ({ host, signal: inner }) => {
        const before = (await host.readText('/log', inner)) ?? '';
        await host.writeFile('/log', `${before}x`, { signal: inner });
        return { bytes: 1 };
      },
    });
    await expect(isSafeToRepeat(adding, () => ({ host: fresh() }))).rejects.toThrow(/run twice/);
  });
});
