import type { RunEvent } from '../engine/events.ts';
import { allEnded, isEnd, type StepState, stepsAfter } from '../engine/run-steps.ts';
import { plainLine, withTexts } from '../lib/plain-text.ts';
import { eventLine } from './event-line.ts';
import { isLadder, railSteps, stageStep, workOfStage } from './rail.ts';
import {
  caps,
  type HostFailure,
  type HostState,
  type ObjectState,
  type PageLine,
  type PageState,
  type PageUpdate,
  type Rail,
  type Span,
} from './state.ts';

type Of<Kind extends PageUpdate['kind']> = Extract<PageUpdate, { readonly kind: Kind }>;

/** A line of the log before it has its number. */
type NewLine = Pick<PageLine, 'source' | 'level' | 'text'>;

const short = (text: string): string => plainLine(text, caps.text);

/**
 * The page after an update. Every text is made plain and cut here; after the end only lines of the
 * log are taken.
 */
export function pageAfter(page: PageState, received: PageUpdate): PageState {
  if (page.end !== undefined && received.kind !== 'line') return page;
  const at = Math.max(page.at, received.at);
  const update = plain(received);
  const next = { ...changed(page, update), at };
  const line = lineOf(page, update);
  if (line === undefined) return next;
  const { source, level, text } = line;
  const n = page.lineCount + 1;
  const added = { n, at: update.at, source: short(source), level, text: short(text) };
  return { ...next, lineCount: n, lines: [...page.lines, added].slice(-caps.lines) };
}

/** Ids and steps of rails are compared, so that they stay unchanged. */
function plain(update: PageUpdate): PageUpdate {
  if (update.kind === 'host') {
    const { name, role, hardware = '' } = update;
    return { ...update, name: short(name), role: short(role), hardware: short(hardware) };
  }
  const texts = withTexts(update, short) as PageUpdate;
  if (!('host' in update)) return texts;
  // An event is cut only where it becomes a state: its line has all of a message and its hint.
  const event = update.kind === 'event' ? { event: update.event } : {};
  return { ...texts, host: update.host, ...event } as PageUpdate;
}

function changed(page: PageState, update: PageUpdate): PageState {
  switch (update.kind) {
    case 'begin':
      return withBeginning(page, update);
    case 'host':
      return withHost(page, update);
    case 'event':
    case 'stage':
    case 'phase':
    case 'host-end': {
      const { host: id } = update;
      const hosts = page.hosts.map((host) => (host.id === id ? hostAfter(host, update) : host));
      return { ...page, hosts };
    }
    case 'cluster': {
      const { status, info, logs } = update;
      return { ...page, cluster: { status, info, logs } };
    }
    case 'object':
      return { ...page, objects: objectsAfter(page.objects, update) };
    case 'fault':
      return { ...page, faults: faultsAfter(page.faults, update) };
    case 'source': {
      const { at, lastError, refusal } = update;
      const answeredAt = lastError === undefined ? at : page.answeredAt;
      return { ...page, lastError, refusal, answeredAt };
    }
    case 'line':
      return page;
    case 'end': {
      const { at, isGood, text, details } = update;
      const hosts = page.hosts.map((host) => ({ ...host, spans: closed(host.spans, at) }));
      return { ...page, hosts, end: { at, isGood, text, details } };
    }
  }
}

const withBeginning = (
  page: PageState,
  { title = page.title, startedAt = page.startedAt }: Of<'begin'>,
): PageState => ({ ...page, title, startedAt });

/** A host that is known keeps its steps and its end. */
function withHost(page: PageState, update: Of<'host'>): PageState {
  const { id, name, role, rail, hardware = '' } = update;
  const known = { id, name, role, rail, hardware };
  if (page.hosts.some((host) => host.id === id)) {
    const hosts = page.hosts.map((host) => (host.id === id ? { ...host, ...known } : host));
    return { ...page, hosts };
  }
  if (page.hosts.length >= caps.hosts) return page;
  const fresh = { steps: {}, spans: [], stage: '', stageInfo: '', status: '', phase: '' };
  return { ...page, hosts: [...page.hosts, { ...fresh, ...known }] };
}

/** An update of one host. */
type OfHost = Of<'event' | 'stage' | 'phase' | 'host-end'>;

function hostAfter(host: HostState, update: OfHost): HostState {
  switch (update.kind) {
    case 'event':
      return afterEvent(host, update.event);
    case 'stage':
      return afterStage(host, update);
    case 'phase':
      return afterPhase(host, update);
    case 'host-end': {
      const { at, isGood, isStopped, text, failure } = update;
      return {
        ...host,
        failure: isGood ? undefined : withFailure(host.failure, failure),
        // The first end of a host counts.
        end: host.end ?? { at, isGood, isStopped, text },
        spans: closed(host.spans, at),
      };
    }
  }
}

function afterEvent(host: HostState, event: RunEvent): HostState {
  const steps = stepsAfter(host.steps, withTexts(event, short) as RunEvent);
  const next = { ...host, steps, spans: spansAfter(host, steps, event) };
  if (!event.type.startsWith('run.')) return next;
  const failure = event.type === 'run.failed' ? withFailure(undefined, event.failure) : undefined;
  return { ...next, failure };
}

/** A failure with what else is known of it. */
function withFailure(
  before: HostFailure | undefined,
  more: Partial<HostFailure> | undefined,
): HostFailure | undefined {
  if (more === undefined) return before;
  const { code = '', message = '', why = '', hint = '', logs = '' } = { ...before, ...more };
  return withTexts({ code, message, why, hint, logs }, short) as HostFailure;
}

/** Each step of the rail that runs has a span; steps in the background have none. */
function spansAfter(host: HostState, steps: HostState['steps'], event: RunEvent): readonly Span[] {
  const { at } = event;
  if (event.type.startsWith('run.')) return closed(host.spans, at);
  const step = 'step' in event ? steps[event.step] : undefined;
  if (step === undefined) return host.spans;
  const { title } = step;
  if (isEnd(event)) return closed(host.spans, at, title, step.state === 'failed');
  const place = event.type === 'step.started' ? placeOf(host.rail, event.step) : undefined;
  if (place === undefined) return host.spans;
  return withSpan(closed(host.spans, at, title), { ...place, title, from: at });
}

/** The track and the work of a step of a rail. */
function placeOf(rail: Rail, id: string): Pick<Span, 'track' | 'work'> | undefined {
  for (const { name, steps } of rail.flat()) {
    const step = steps.find((one) => one.id === id);
    if (step !== undefined) return { track: name, work: step.work };
  }
  return undefined;
}

/** The spans with all open ones, or those of a title, ended. */
const closed = (
  spans: readonly Span[],
  at: number,
  title?: string,
  isBad?: boolean,
): readonly Span[] =>
  spans.map((span) => {
    if (span.until !== undefined || (title !== undefined && span.title !== title)) return span;
    const ended = { ...span, until: Math.max(span.from, at) };
    return isBad === true ? { ...ended, isBad } : ended;
  });

const withSpan = (spans: readonly Span[], span: Span): readonly Span[] =>
  [...spans, span].slice(-caps.spans);

const failedStatuses: ReadonlySet<string> = new Set(['error', 'cancelled', 'stopped']);

function afterStage(before: HostState, update: Of<'stage'>): HostState {
  const { at, stage, info, status, since = at } = update;
  const isReset =
    before.end?.isGood === false &&
    failedStatuses.has(before.status) &&
    status !== '' &&
    !failedStatuses.has(status);
  const host: HostState = isReset
    ? { ...before, steps: {}, stage: '', end: undefined, failure: undefined }
    : before;
  const known = { ...host, stage, stageInfo: info, status };
  const place = railSteps(host.rail).findIndex(({ id }) => id === stageStep(stage));
  if (stage === '' || stage === host.stage || place === -1) return known;
  const isLast = place === railSteps(host.rail).length - 1;
  const next = { ...known, steps: stepsUpTo(host, place, { since, isLast }) };
  // Where a plan is known, events of the agent and phases of the machine show where the time goes.
  if (!isLadder(host.rail)) return next;
  const ended = closed(host.spans, since);
  const span = { track: '', title: stage, work: workOfStage(stage), from: since };
  return { ...next, spans: isLast ? ended : withSpan(ended, span) };
}

/** The steps with all stages up to one; a stage that was not seen was passed all the same. */
function stepsUpTo(
  { rail, steps }: HostState,
  place: number,
  { since, isLast }: { readonly since: number; readonly isLast: boolean },
): HostState['steps'] {
  const reached: Record<string, StepState> = {};
  for (const [index, { id, title }] of railSteps(rail)
    .slice(0, place + 1)
    .entries()) {
    if (!id.startsWith(stageStep(''))) continue;
    const first = { step: id, title, since, attempt: 1 };
    if (index === place && !isLast) reached[id] = { ...first, state: 'running' };
    else reached[id] = { until: since, ...(steps[id] ?? first), state: 'finished' };
  }
  return { ...steps, ...reached };
}

function afterPhase(host: HostState, { at, phase }: Of<'phase'>): HostState {
  if (phase === host.phase) return host;
  if (phase === '') return { ...host, phase, spans: closed(host.spans, at, host.phase) };
  // Before its agent a host starts from its live medium.
  const work = Object.keys(host.steps).length === 0 ? 'live' : 'boot';
  const spans = withSpan(closed(host.spans, at), { track: '', title: phase, work, from: at });
  // A reboot can take the last events of the agent that started it.
  const steps = host.phase === '' ? allEnded(host.steps, at, 'finished') : host.steps;
  return { ...host, phase, steps, spans };
}

function objectsAfter(
  objects: readonly ObjectState[],
  { at, object: { kind, name, state, tone }, isGone }: Of<'object'>,
): readonly ObjectState[] {
  const index = objects.findIndex((one) => one.kind === kind && one.name === name);
  const before = objects[index];
  if (isGone === true) return objects.filter((one) => one !== before);
  const goodAt = before?.goodAt ?? (tone === 'good' ? at : undefined);
  const since = before?.state === state ? before.at : at;
  const known = { kind, name, state, tone, at: since, goodAt };
  return before === undefined
    ? [...objects, known].slice(-caps.objects)
    : objects.with(index, known);
}

function faultsAfter(
  faults: PageState['faults'],
  { at, where, what }: Of<'fault'>,
): PageState['faults'] {
  const last = faults.at(-1);
  if (last?.where !== where || last.what !== what)
    return [...faults, { at, where, what, times: 1 }].slice(-caps.faults);
  return [...faults.slice(0, -1), { ...last, times: last.times + 1 }];
}

/** The line that an update adds to the log; most updates have news. */
function lineOf(page: PageState, update: PageUpdate): NewLine | undefined {
  switch (update.kind) {
    case 'line':
      return update;
    case 'event':
    case 'stage':
    case 'phase':
    case 'host-end': {
      const host = page.hosts.find(({ id }) => id === update.host);
      return host && hostLine(host, update);
    }
    case 'cluster':
      return update.status === page.cluster.status
        ? undefined
        : info('service', `cluster is ${update.status}`);
    case 'object':
      return objectLine(page, update);
    case 'fault':
      return { source: update.where, level: 'warn', text: `fault: ${update.what}` };
    case 'source':
      return sourceLine(page, update);
    case 'end':
      return { source: 'page', level: update.isGood ? 'info' : 'error', text: update.text };
    default:
      return undefined;
  }
}

function hostLine(host: HostState, update: OfHost): NewLine | undefined {
  const source = host.name;
  switch (update.kind) {
    case 'event': {
      const { event } = update;
      const lastWait = 'step' in event ? host.steps[event.step]?.wait?.status : undefined;
      const line = eventLine(event, lastWait);
      return line && { source, ...line };
    }
    case 'stage':
      return stageLine(host, update);
    case 'phase':
      return ['', host.stage].includes(update.phase) ? undefined : info(source, update.phase);
    case 'host-end': {
      if (host.end !== undefined) return undefined;
      const badLevel = update.isStopped === true ? 'warn' : 'error';
      return { source, level: update.isGood ? 'info' : badLevel, text: update.text };
    }
  }
}

const info = (source: string, text: string): NewLine => ({ source, level: 'info', text });

/** A percentage is no news. */
const withoutPercent = (text: string): string => text.replace(/\d{1,3} ?%/, '');

function stageLine(host: HostState, update: Of<'stage'>): NewLine | undefined {
  const { stage, status } = update;
  const more = update.info === '' ? '' : `: ${update.info}`;
  if (status === 'error' && host.status !== 'error')
    return { source: host.name, level: 'error', text: `status error${more}` };
  const isKnown =
    stage === host.stage && withoutPercent(host.stageInfo) === withoutPercent(update.info);
  return stage === '' || isKnown ? undefined : info(host.name, `stage ${stage}${more}`);
}

function sourceLine(page: PageState, { lastError }: Of<'source'>): NewLine | undefined {
  if (lastError === page.lastError) return undefined;
  if (lastError === undefined) return info('service', 'answers again');
  return { source: 'service', level: 'warn', text: lastError };
}

function objectLine(page: PageState, { object, isGone }: Of<'object'>): NewLine | undefined {
  const { kind, name, state, tone } = object;
  const before = page.objects.find((one) => one.kind === kind && one.name === name);
  const source = 'cluster';
  if (isGone === true) return before && { source, level: 'debug', text: `${kind} ${name} is gone` };
  if (before?.state === state) return undefined;
  return { source, level: tone === 'bad' ? 'warn' : 'info', text: `${kind} ${name}: ${state}` };
}
