import { describe, expect, it } from 'vitest';
import type { RunEvent, RunEventBody } from '../../src/engine/events.ts';
import { afterEvent, noProgress, takeFaults } from './host-progress.ts';
import type { HostFault } from './scenario.ts';

const after = (...events: readonly RunEventBody[]) =>
  events.map((event): RunEvent => ({ ...event, at: 0, run: 'r' })).reduce(afterEvent, noProgress);

const step = 'control-plane/wait-for-masters';
const wait = (status: string, waited: number): RunEventBody => ({
  type: 'wait.updated',
  step,
  sentence: 'two masters are done',
  status,
  waited,
  limit: 1,
});

describe('what the events of an agent say', () => {
  it('tells what is missing while it waits', () => {
    const progress = after(
      { type: 'step.started', step, title: 'Wait', attempt: 1 },
      wait('0 of 2', 0),
      wait('1 of 2', 4000),
    );
    expect(progress).toMatchObject({ doing: 'Wait', waitingFor: '1 of 2' });
    expect(progress.waits).toEqual([{ step, for: 'two masters are done', seconds: 4 }]);
  });

  it('knows how long a wait was, and that its step continues', () => {
    const waited = after(wait('0 of 2', 0), {
      type: 'wait.finished',
      step,
      sentence: 'two masters are done',
      isReached: true,
      waited: 7000,
    });
    expect(waited.waits).toEqual([{ step, for: 'two masters are done', seconds: 7 }]);
    expect(waited.waitingFor).toBeUndefined();
    expect(waited.steps).toEqual([]);
  });

  it('waits for nothing when the step has ended', () => {
    const progress = after(wait('0 of 2', 0), { type: 'step.finished', step, duration: 7000 });
    expect(progress.waitingFor).toBeUndefined();
    expect(progress.steps).toEqual([{ step, seconds: 7 }]);
  });

  it('keeps the percentage until the step ends', () => {
    const shown = { info: '42%', percent: 42 };
    const under = after({ type: 'step.progress', step: 'image/write', progress: shown });
    expect(under.percent).toBe(42);
  });

  it('shows no percentage below one before it, although another agent begins again', () => {
    const percent = (value: number): RunEventBody => ({
      ...{ type: 'step.progress', step: 'image/write' },
      progress: { info: '', percent: value, remaining: 7000 },
    });
    const begins: RunEventBody = {
      ...{ type: 'step.started', step: 'image/write', title: 'Write', attempt: 1 },
    };
    const events = [begins, percent(60), begins, percent(3)];
    expect(after(...events)).toMatchObject({ percent: undefined, remaining: 7000 });
    expect(after(...events, percent(61)).percent).toBe(61);
  });

  it('keeps lanes apart: one writes while the other one waits', () => {
    const lane = 'disk';
    const shown = { info: '42%', percent: 42 };
    const under = after(
      { type: 'step.started', step: 'image/write', lane, title: 'Write', attempt: 1 },
      { type: 'step.progress', step: 'image/write', lane, progress: shown },
      { type: 'step.started', step, lane: 'cluster', title: 'Wait', attempt: 1 },
      { ...wait('1 of 2', 0), lane: 'cluster' } as RunEventBody,
    );
    expect(under).toMatchObject({ doing: 'Write', percent: 42, waitingFor: '1 of 2' });
  });

  it('keeps the failure that ended the run', () => {
    const failure = {
      code: 'disk.busy',
      kind: 'host',
      message: 'm',
      hint: 'h',
      context: {},
    } as const;
    expect(after({ type: 'run.failed', failure, duration: 1 }).failure).toEqual({
      code: 'disk.busy',
      message: 'm',
    });
  });
});

describe('the fault that an event lets strike', () => {
  const killed = { kind: 'agent-killed', host: 'b1' } as const;
  const seen = (event: RunEventBody, ...faults: readonly HostFault[]) => {
    const left = [...faults];
    return { struck: takeFaults(left, { ...event, at: 0, run: 'r' }), left };
  };

  it.each<{ readonly name: string; readonly event: RunEventBody }>([
    { name: 'has finished', event: { type: 'step.finished', step, duration: 1 } },
    // The agent was killed between the line of its journal and its event.
    {
      name: 'had finished in an agent before',
      event: { type: 'step.reused', step, title: 'Wait' },
    },
  ])('strikes after a step that $name', ({ event }) => {
    const fault = { ...killed, after: step };
    expect(seen(event, fault)).toEqual({ struck: [fault], left: [] });
  });

  it('strikes in a wait, once for each that was planned', () => {
    const fault = { ...killed, during: step };
    const { struck, left } = seen(wait('0 of 2', 0), fault, fault);
    expect(struck).toEqual([fault]);
    expect(left).toEqual([fault]);
  });

  it('stays where it is as long as its step neither waits nor ends', () => {
    const faults = [
      { ...killed, after: step },
      { ...killed, during: 'image/write' },
    ];
    expect(seen(wait('0 of 2', 0), ...faults)).toEqual({ struck: [], left: faults });
  });
});
