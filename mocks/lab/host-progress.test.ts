import { describe, expect, it } from 'vitest';
import type { RunEvent, RunEventBody } from '../../src/engine/events.ts';
import { afterEvent, noProgress, takeFaults, timesOf } from './host-progress.ts';
import type { HostFault } from './scenario.ts';

const eventsOf = (bodies: readonly RunEventBody[]): readonly RunEvent[] =>
  bodies.map((event) => ({ ...event, at: 0, run: 'r' }));

const after = (...events: readonly RunEventBody[]) =>
  eventsOf(events).reduce(afterEvent, noProgress);

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
    const events: readonly RunEventBody[] = [
      { type: 'step.started', step, title: 'Wait', attempt: 1 },
      wait('0 of 2', 0),
      wait('1 of 2', 4000),
    ];
    expect(after(...events)).toMatchObject({ doing: 'Wait', waitingFor: '1 of 2' });
    const waited = [{ step, for: 'two masters are done', seconds: 4 }];
    expect(timesOf(eventsOf(events))).toEqual({ waited, steps: [] });
  });

  it('knows how long a wait was, and that its step continues', () => {
    const sentence = 'two masters are done';
    const events: readonly RunEventBody[] = [
      wait('0 of 2', 0),
      { type: 'wait.finished', step, sentence, isReached: true, waited: 7000 },
    ];
    expect(after(...events).waitingFor).toBeUndefined();
    const waited = [{ step, for: sentence, seconds: 7 }];
    expect(timesOf(eventsOf(events))).toEqual({ waited, steps: [] });
  });

  it('waits for nothing when the step has ended', () => {
    const end: RunEventBody = { type: 'step.finished', step, duration: 7000 };
    expect(after(wait('0 of 2', 0), end).waitingFor).toBeUndefined();
  });

  it('tells how long each step was, the longest first', () => {
    const events = [3, 7].map((seconds): RunEventBody => {
      return { type: 'step.finished', step: `s${seconds}`, duration: seconds * 1000 };
    });
    const steps = [
      { step: 's7', seconds: 7 },
      { step: 's3', seconds: 3 },
    ];
    expect(timesOf(eventsOf(events))).toEqual({ waited: [], steps });
  });

  it('keeps the percentage until the step ends', () => {
    const shown = { info: '42%', percent: 42 };
    const under = after({ type: 'step.progress', step: 'image/write', progress: shown });
    expect(under.percent).toBe(42);
  });

  it('shows no percentage below one before it, although another agent begins again', () => {
    const percent = (value: number): RunEventBody => ({
      type: 'step.progress',
      step: 'image/write',
      progress: { info: '', percent: value, remaining: 7000 },
    });
    const begins: RunEventBody = {
      type: 'step.started',
      step: 'image/write',
      title: 'Write',
      attempt: 1,
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
