import type { RunEvent } from '../engine/events.ts';
import { plainLine } from '../lib/plain-text.ts';
import { railSteps, tracksOf } from './rail.ts';
import { caps, type HostFailure, type HostState, type Span, type StepState } from './state.ts';

const short = (text: string): string => plainLine(text, caps.text);

/** A host after an event of its agent. */
export function hostAfterEvent(host: HostState, event: RunEvent): HostState {
  switch (event.type) {
    // Whatever an agent left open ended with it.
    case 'run.started':
    case 'run.finished':
    case 'run.failed':
    case 'run.stopped':
      return {
        ...host,
        failure: event.type === 'run.failed' ? withFailure(undefined, event.failure) : undefined,
        steps: allEnded(host.steps, event.at, 'stopped'),
        spans: closed(host.spans, event.at),
      };
    case 'wait.updated':
    case 'wait.finished':
      return changed(host, event.step, (step) => ({ ...step, wait: waitOf(event) }));
    default:
      return afterStepEvent(host, event);
  }
}

/** A failure with what else is known of it. */
export function withFailure(
  before: HostFailure | undefined,
  more: Partial<HostFailure> | undefined,
): HostFailure | undefined {
  if (more === undefined) return before;
  const { code = '', message = '', hint = '', logs = '' } = { ...before, ...more };
  return { code: short(code), message: short(message), hint: short(hint), logs: short(logs) };
}

function waitOf(event: EventOf<'wait.updated' | 'wait.finished'>): StepState['wait'] {
  if (event.type === 'wait.finished') return undefined;
  const { at, waited, limit, sentence, status } = event;
  return { since: at - waited, limit, sentence: short(sentence), status: short(status) };
}

function afterStepEvent(host: HostState, event: RunEvent): HostState {
  switch (event.type) {
    case 'step.started':
      return started(host, event);
    case 'step.reused':
      return ended(withStep(host, event.step, startOf(event)), event, 'kept');
    case 'step.progress':
      return changed(host, event.step, (step) => progressed(step, event.progress));
    case 'step.finished':
      return ended(host, event, 'done');
    case 'step.failed':
      return ended(host, event, 'failed');
    case 'step.stopped':
      return ended(host, event, 'stopped');
    case 'step.skipped': {
      const { at } = event;
      const title = titleOf(host, event.step);
      return withStep(host, event.step, { title, state: 'skipped', since: at, attempt: 1 });
    }
    default:
      return host;
  }
}

type EventOf<Type> = Extract<RunEvent, { readonly type: Type }>;

const titleOf = (host: HostState, id: string): string =>
  railSteps(host.rail).find((step) => step.id === id)?.title ?? id;

const startOf = (event: EventOf<'step.started' | 'step.reused'>): StepState => ({
  title: short(event.title),
  state: 'running',
  since: event.at,
  attempt: event.type === 'step.started' ? event.attempt : 1,
});

function started(host: HostState, event: EventOf<'step.started'>): HostState {
  const before = host.steps[event.step];
  const start = startOf(event);
  // What is shown of a second attempt does not fall behind the first.
  const step = before?.state === 'running' ? { ...start, percent: before.percent } : start;
  const work = railSteps(host.rail).find(({ id }) => id === event.step)?.work;
  const track = tracksOf(host.rail).get(event.step);
  const next = withStep(host, event.step, step);
  if (work === undefined || track === undefined) return next;
  const span: Span = { track, title: start.title, work, from: event.at };
  return { ...next, spans: withSpan(closedOf(host.spans, start.title, { until: event.at }), span) };
}

function progressed(
  step: StepState,
  { info, percent, bytesPerSecond, remaining }: EventOf<'step.progress'>['progress'],
): StepState {
  const most = Math.max(step.percent ?? 0, percent ?? 0);
  return {
    ...step,
    info: short(info),
    bytesPerSecond,
    remaining,
    percent: percent === undefined ? step.percent : Math.min(100, most),
    wait: undefined,
  };
}

function ended(
  host: HostState,
  { step: id, at }: { readonly step: string; readonly at: number },
  state: StepState['state'],
): HostState {
  const before = host.steps[id];
  if (before === undefined) return host;
  const step = { ...before, state, until: at, wait: undefined };
  const end = { until: at, ...(state === 'failed' ? { isBad: true } : {}) };
  const spans = closedOf(host.spans, before.title, end);
  return { ...withStep(host, id, step), spans };
}

const withStep = (host: HostState, id: string, step: StepState): HostState => ({
  ...host,
  steps: { ...host.steps, [id]: step },
});

function changed(host: HostState, id: string, change: (step: StepState) => StepState): HostState {
  const step = host.steps[id];
  return step === undefined ? host : withStep(host, id, change(step));
}

/** Whatever runs has ended so. */
export const allEnded = (
  steps: HostState['steps'],
  at: number,
  state: 'done' | 'stopped',
): HostState['steps'] =>
  Object.fromEntries(
    Object.entries(steps).map(([id, step]) => [
      id,
      step.state === 'running' ? { ...step, state, until: at, wait: undefined } : step,
    ]),
  );

/** All spans ended. */
export const closed = (spans: readonly Span[], at: number): readonly Span[] =>
  spans.map((span) =>
    span.until === undefined ? { ...span, until: Math.max(span.from, at) } : span,
  );

/** The spans of a title ended. */
export const closedOf = (
  spans: readonly Span[],
  title: string,
  end: { readonly until: number; readonly isBad?: boolean },
): readonly Span[] =>
  spans.map((span) =>
    span.until === undefined && span.title === title
      ? { ...span, ...end, until: Math.max(span.from, end.until) }
      : span,
  );

/** With one more span, and not more of them than are kept. */
export const withSpan = (spans: readonly Span[], span: Span): readonly Span[] =>
  [...spans, span].slice(-caps.spans);
