import type { RunEvent } from '../engine/events.ts';
import { plainLine, withTexts } from '../lib/plain-text.ts';
import { isEnd, type RunSteps, stepsAfter } from '../engine/run-steps.ts';
import { railSteps, tracksOf } from './rail.ts';
import { caps, type HostFailure, type HostState, type Span } from './state.ts';

const short = (text: string): string => plainLine(text, caps.text);

/** A host after an event of its agent. */
export function hostAfterEvent(host: HostState, event: RunEvent): HostState {
  const steps = stepsAfter(host.steps, withTexts(event, short) as RunEvent);
  const spans = spansAfter(host, steps, event);
  if (!event.type.startsWith('run.')) return { ...host, steps, spans };
  const failure = event.type === 'run.failed' ? withFailure(undefined, event.failure) : undefined;
  return { ...host, steps, spans, failure };
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

/** A span for each step of the rail that runs. */
function spansAfter(host: HostState, steps: RunSteps, event: RunEvent): readonly Span[] {
  const { at } = event;
  if (event.type.startsWith('run.')) return closed(host.spans, at);
  const step = 'step' in event ? steps[event.step] : undefined;
  if (step === undefined) return host.spans;
  if (isEnd(event)) {
    const end = step.state === 'failed' ? { until: at, isBad: true } : { until: at };
    return closedOf(host.spans, step.title, end);
  }
  const work = railSteps(host.rail).find(({ id }) => id === step.step)?.work;
  const track = tracksOf(host.rail).get(step.step);
  if (event.type !== 'step.started' || work === undefined || track === undefined) return host.spans;
  const before = closedOf(host.spans, step.title, { until: at });
  return withSpan(before, { track, title: step.title, work, from: at });
}

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
