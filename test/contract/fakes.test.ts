import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fact } from '../../src/engine/fact.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { step } from '../../src/steps/step.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { any, fakeHost, rest } from '../support/fake-host.ts';
import { Crash, memoryJournal } from '../support/memory-journal.ts';
import { isSafeToRepeat, runStep, tryStep } from '../support/run-step.ts';

const signal = new AbortController().signal;
const how = { signal, limit: seconds(10) };

describe('the fake host', () => {
  it('answers the argv it was told about, and the later row wins', async () => {
    const host = fakeHost()
      .on(['lsblk', rest])
      .prints('all')
      .on(['lsblk', '--json', any])
      .prints('one');
    expect((await host.exec(['lsblk'], how)).stdout).toBe('all');
    expect((await host.exec(['lsblk', '--json', '/dev/vda'], how)).stdout).toBe('one');
    expect(host.ran).toEqual([['lsblk'], ['lsblk', '--json', '/dev/vda']]);
  });

  it('throws for an argv it was not told about, naming those it knows', async () => {
    const host = fakeHost().on(['true']).succeeds();
    await expect(host.exec(['rm', '-rf', '/'], how)).rejects.toThrow(/rm -rf \/\n.*\n {2}true/);
    expect(host.unknown).toEqual([['rm', '-rf', '/']]);
  });

  it('answers in turn and keeps the last answer', async () => {
    const host = fakeHost().on(['cat']).inTurn('a', { exitCode: 1 });
    expect((await host.exec(['cat'], how)).stdout).toBe('a');
    await expect(host.exec(['cat'], how)).rejects.toMatchObject({ code: 'command.failed' });
    await expect(host.exec(['cat'], how)).rejects.toMatchObject({ code: 'command.failed' });
  });

  it('follows links to files', async () => {
    const host = fakeHost().withFile('/dev/vda', '').withLink('/dev/disk/by-id/x', '../../vda');
    await expect(host.realPath('/dev/disk/by-id/x', signal)).resolves.toBe('/dev/vda');
  });
});

describe('the fake clock', () => {
  it('jumps to the next sleeper when nothing else happens', async () => {
    const clock = fakeClock({ start: 1000 });
    const woken: number[] = [];
    await Promise.all(
      [30, 10, 20].map(async (minute) => {
        await clock.sleep(minutes(minute), signal);
        woken.push(minute);
      }),
    );
    expect(woken).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(1000 + minutes(30));
  });

  it('stands still without auto until it is moved', async () => {
    const clock = fakeClock({ auto: false });
    let isAwake = false;
    const sleep = clock.sleep(seconds(5), signal).then(() => (isAwake = true));
    await clock.advance(seconds(4));
    expect(isAwake).toBe(false);
    await clock.advance(seconds(1));
    await sleep;
    expect(isAwake).toBe(true);
  });
});

describe('the journal in memory', () => {
  it('ends the process after an append and keeps what was stored', async () => {
    const journal = memoryJournal([], { crashAfter: 2, losesUnflushed: true });
    await journal.append('one', { flush: true });
    await expect(journal.append('two', { flush: false })).rejects.toBeInstanceOf(Crash);
    await expect(journal.append('three', { flush: true })).rejects.toBeInstanceOf(Crash);
    await expect(journal.read()).resolves.toEqual(['one']);
  });
});

describe('running one step', () => {
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

  it('gives its value, its events and its progress', async () => {
    const { value, events, progress } = await runStep(measure, { host: fresh() });
    expect(value).toEqual({ bytes: 512 });
    expect(progress).toEqual([{ info: 'half' }]);
    expect(events.map(({ type }) => type)).toEqual([
      'step.started',
      'step.progress',
      'step.finished',
    ]);
  });

  it('tells the failure of a step that fails', async () => {
    const host = fresh().on(['size']).fails(2, 'no disk');
    const { failure } = await tryStep(measure, { host });
    expect(failure).toMatchObject({ code: 'command.failed', context: { exitCode: 2 } });
  });

  it('a command that hangs ends with the limit of the step or its own', async () => {
    const clock = fakeClock();
    const host = fakeHost({ clock }).on(['size']).hangs();
    const { failure } = await tryStep(measure, { host, clock });
    expect(failure).toMatchObject({ code: 'command.timed-out' });
    expect(clock.now()).toBe(seconds(1));
  });

  it('the law of safe steps accepts one that is safe', async () => {
    await isSafeToRepeat(measure, () => ({ host: fresh() }));
  });

  it('the law of safe steps refuses one that adds up', async () => {
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
