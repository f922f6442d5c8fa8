import type { RunEvent } from '../engine/events.ts';
import { allEnded, isEnd, type RunSteps, type StepState, stepsAfter } from '../engine/run-steps.ts';
import { plainLine, withTexts } from '../lib/plain-text.ts';
import { eventLine } from './event-line.ts';
import { isLadder, railSteps, stageStep, workOfStage } from './rail.ts';
import {
  caps,
  type HostFailure,
  type HostState,
  type PageLine,
  type PageState,
  type PageUpdate,
  type Span,
} from './state.ts';

type UpdateOf<Kind extends PageUpdate['kind']> = Extract<PageUpdate, { readonly kind: Kind }>;

/** A line of the log without its number; undefined for an update without news. */
type NewLine = Pick<PageLine, 'source' | 'level' | 'text'> | undefined;

/** The changed fields of a page, and the line of an update. */
type PageChange = readonly [Partial<PageState>, NewLine?];

/** The changed fields of a host, and the line of an update. */
type HostChange = readonly [Partial<HostState>, NewLine?];

const short = (text: string): string => plainLine(text, caps.text);

const info = (source: string, text: string): NewLine => ({ source, level: 'info', text });

/**
 * The page after an update. Cleans and cuts every text here; after the end, only adds lines to the
 * log.
 */
export function pageAfter(page: PageState, received: PageUpdate): PageState {
  if (page.end !== undefined && received.kind !== 'line') return page;
  const update = plain(received);
  const change = pageChanges[update.kind] as (page: PageState, update: PageUpdate) => PageChange;
  const [changed, line] = change(page, update);
  const next = { ...page, ...changed, at: Math.max(page.at, received.at) };
  if (line === undefined) return next;
  const n = page.lineCount + 1;
  const { source, level, text } = line;
  const added = { n, at: update.at, source: short(source), level, text: short(text) };
  return { ...next, lineCount: n, lines: [...page.lines, added].slice(-caps.lines) };
}

/**
 * Cleans the texts of an update. Ids and rails are compared, so they stay unchanged. An event is
 * cut only when it becomes a state: its line has the whole message and hint.
 */
function plain(update: PageUpdate): PageUpdate {
  const { kind, ...fields } = update;
  const kept = Object.entries(fields).filter(([key]) => /^(id|host|rail|event)$/.test(key));
  return {
    ...(withTexts(fields, short) as object),
    ...Object.fromEntries(kept),
    kind,
  } as PageUpdate;
}

const pageChanges: {
  readonly [Kind in PageUpdate['kind']]: (page: PageState, update: UpdateOf<Kind>) => PageChange;
} = {
  begin: (page, { title = page.title, startedAt = page.startedAt }) => [{ title, startedAt }],
  host: withHost,
  event: hostChange(afterEvent),
  stage: hostChange(afterStage),
  phase: hostChange(afterPhase),
  'host-end': hostChange(afterHostEnd),
  cluster: (page, { status, info: text, logs }) => [
    { cluster: { status, info: text, logs } },
    status === page.cluster.status ? undefined : info('service', `cluster is ${status}`),
  ],
  object: withObject,
  fault: ({ faults }, { at, where, what }) => {
    const last = faults.at(-1);
    const isAgain = last?.where === where && last.what === what;
    const next = isAgain
      ? faults.with(-1, { ...last, times: last.times + 1 })
      : [...faults, { at, where, what, times: 1 }].slice(-caps.faults);
    return [{ faults: next }, { source: where, level: 'warn', text: `fault: ${what}` }];
  },
  source: (page, { at, lastError, refusal }) => {
    const isNews = lastError !== page.lastError;
    const line: NewLine =
      lastError === undefined
        ? info('service', 'answers again')
        : { source: 'service', level: 'warn', text: lastError };
    const answeredAt = lastError === undefined ? at : page.answeredAt;
    return [{ lastError, refusal, answeredAt }, isNews ? line : undefined];
  },
  line: (_, line) => [{}, line],
  end: ({ hosts }, { at, isGood, text, details, notes }) => [
    {
      hosts: hosts.map((host) => ({ ...host, spans: closed(host.spans, at) })),
      end: { at, isGood, text, details, notes },
    },
    { source: 'page', level: isGood ? 'info' : 'error', text },
  ],
};

/** Adds a host; a known host keeps its steps and its end. */
function withHost({ hosts }: PageState, update: UpdateOf<'host'>): PageChange {
  const { id, name, role, rail, hardware = '' } = update;
  const index = hosts.findIndex((host) => host.id === id);
  if (index === -1 && hosts.length >= caps.hosts) return [{}];
  const fresh = { steps: {}, spans: [], stage: '', stageInfo: '', status: '', phase: '' };
  const host = { ...(hosts[index] ?? fresh), id, name, role, rail, hardware };
  return [{ hosts: index === -1 ? [...hosts, host] : hosts.with(index, host) }];
}

/** Changes the host of an update, if it is known. */
function hostChange<Update extends { readonly host: string }>(
  change: (host: HostState, update: Update) => HostChange,
) {
  return ({ hosts }: PageState, update: Update): PageChange => {
    const index = hosts.findIndex(({ id }) => id === update.host);
    const host = hosts[index];
    if (host === undefined) return [{}];
    const [changed, line] = change(host, update);
    return [{ hosts: hosts.with(index, { ...host, ...changed }) }, line];
  };
}

function afterEvent(host: HostState, { event }: UpdateOf<'event'>): HostChange {
  const steps = stepsAfter(host.steps, withTexts(event, short) as RunEvent);
  const lastWait = 'step' in event ? host.steps[event.step]?.wait?.status : undefined;
  const line = eventLine(event, lastWait);
  const failure = event.type === 'run.failed' ? withFailure(undefined, event.failure) : undefined;
  return [
    {
      steps,
      spans: spansAfter(host, steps, event),
      ...(event.type.startsWith('run.') ? { failure } : {}),
    },
    line && { source: host.name, ...line },
  ];
}

/** Sets the end of a host; only the first end counts. */
function afterHostEnd(host: HostState, update: UpdateOf<'host-end'>): HostChange {
  const { at, isGood, isStopped, text, failure } = update;
  const badLevel = isStopped === true ? 'warn' : 'error';
  return [
    {
      failure: isGood ? undefined : withFailure(host.failure, failure),
      end: host.end ?? { at, isGood, isStopped, text },
      spans: closed(host.spans, at),
    },
    host.end === undefined
      ? { source: host.name, level: isGood ? 'info' : badLevel, text }
      : undefined,
  ];
}

/** Adds details to a failure. */
function withFailure(
  before: HostFailure | undefined,
  more: Partial<HostFailure> | undefined,
): HostFailure | undefined {
  if (more === undefined) return before;
  const { code = '', message = '', why = '', hint = '', logs = '' } = { ...before, ...more };
  return withTexts({ code, message, why, hint, logs }, short) as HostFailure;
}

/**
 * The spans after an event: each running step of the rail has a span, and its waits have spans of
 * their own; background steps have none.
 */
function spansAfter({ rail, spans }: HostState, steps: RunSteps, event: RunEvent): readonly Span[] {
  const { at } = event;
  if (event.type.startsWith('run.')) return closed(spans, at);
  const step = 'step' in event ? steps[event.step] : undefined;
  if (step === undefined) return spans;
  const { title } = step;
  if (isEnd(event)) return closed(spans, at, title, step.state === 'failed');
  const [begun] = rail.flat().flatMap(({ name: track, steps: own }): readonly Span[] =>
    own
      .filter(({ id }) => id === step.step)
      .map(({ work }) => ({
        track,
        title,
        work: step.wait === undefined ? work : 'wait',
        from: at,
        attempt: step.attempt,
      })),
  );
  const open = spans.findLast((span) => span.until === undefined && span.title === title);
  const isBegun = event.type === 'step.started';
  const isSame = !isBegun && (open === undefined || open.work === begun?.work);
  return begun === undefined || isSame ? spans : withSpan(closed(spans, at, title), begun);
}

/** The spans with all open ones ended, or only those with a title. */
const closed = (
  spans: readonly Span[],
  at: number,
  title?: string,
  isBad = false,
): readonly Span[] =>
  spans.map((span) => {
    if (span.until !== undefined || (title !== undefined && span.title !== title)) return span;
    const until = Math.max(span.from, at);
    return isBad ? { ...span, until, isBad } : { ...span, until };
  });

const withSpan = (spans: readonly Span[], span: Span): readonly Span[] =>
  [...spans, span].slice(-caps.spans);

const failedStatuses: readonly string[] = ['error', 'cancelled', 'stopped'];

/** Whether the service installs a host again whose installation had failed. */
const isReset = ({ end, status }: HostState, now: string): boolean =>
  end?.isGood === false &&
  failedStatuses.includes(status) &&
  !['', ...failedStatuses].includes(now);

function afterStage(before: HostState, update: UpdateOf<'stage'>): HostChange {
  const { at, stage, status, since = at } = update;
  // An agent reports its role as the text of its first stage, which says nothing here.
  const stageInfo = update.info === before.role ? '' : update.info;
  const line = stageLine(before, { ...update, info: stageInfo });
  const reset = isReset(before, status)
    ? { steps: {}, stage: '', end: undefined, failure: undefined }
    : {};
  const known = { ...reset, stage, stageInfo, status };
  const host: HostState = { ...before, ...reset };
  const all = railSteps(host.rail);
  const place = all.findIndex(({ id }) => id === stageStep(stage));
  if (stage === '' || stage === host.stage || place === -1) return [known, line];
  // A stage that was not seen was passed too.
  const isLast = place === all.length - 1;
  const reached = all.slice(0, place + 1).filter(({ id }) => id.startsWith(stageStep('')));
  const steps: Record<string, StepState> = { ...host.steps };
  for (const { id, title } of reached) {
    const first = { step: id, title, since, attempt: 1 };
    steps[id] =
      id === stageStep(stage) && !isLast
        ? { ...first, state: 'running' }
        : { until: since, ...(steps[id] ?? first), state: 'finished' };
  }
  // With a known plan, events of the agent and phases of the machine show the use of time.
  if (!isLadder(host.rail)) return [{ ...known, steps }, line];
  const ended = closed(host.spans, since);
  const span = { track: '', title: stage, work: workOfStage(stage), from: since };
  return [{ ...known, steps, spans: isLast ? ended : withSpan(ended, span) }, line];
}

/** A text without its percentage, which is not news. */
const withoutPercent = (text: string): string => text.replace(/\d{1,3} ?%/, '');

function stageLine(host: HostState, { stage, info: text, status }: UpdateOf<'stage'>): NewLine {
  const more = text === '' ? '' : `: ${text}`;
  if (status === 'error' && host.status !== 'error')
    return { source: host.name, level: 'error', text: `status error${more}` };
  const isKnown = stage === host.stage && withoutPercent(host.stageInfo) === withoutPercent(text);
  return stage === '' || isKnown ? undefined : info(host.name, `stage ${stage}${more}`);
}

function afterPhase(host: HostState, { at, phase }: UpdateOf<'phase'>): HostChange {
  const line = ['', host.stage].includes(phase) ? undefined : info(host.name, phase);
  if (phase === host.phase) return [{}, line];
  if (phase === '') return [{ phase, spans: closed(host.spans, at, host.phase) }, line];
  // Before its agent, a host boots its live medium.
  const work = Object.keys(host.steps).length === 0 ? 'live' : 'boot';
  const spans = withSpan(closed(host.spans, at), { track: '', title: phase, work, from: at });
  // A reboot can lose the last events of the agent that started it.
  const steps = host.phase === '' ? allEnded(host.steps, at, 'finished') : host.steps;
  return [{ phase, steps, spans }, line];
}

function withObject({ objects }: PageState, update: UpdateOf<'object'>): PageChange {
  const { at, object, isGone } = update;
  const { kind, name, state, tone } = object;
  const index = objects.findIndex((one) => one.kind === kind && one.name === name);
  const before = objects[index];
  if (isGone === true) {
    const text = `${kind} ${name} is gone`;
    const line: NewLine = before && { source: 'cluster', level: 'debug', text };
    return [{ objects: objects.filter((one) => one !== before) }, line];
  }
  const isKnown = before?.state === state;
  const goodAt = before?.goodAt ?? (tone === 'good' ? at : undefined);
  const known = { kind, name, state, tone, at: isKnown ? before.at : at, goodAt };
  const next =
    before === undefined ? [...objects, known].slice(-caps.objects) : objects.with(index, known);
  const level = tone === 'bad' ? 'warn' : 'info';
  const line: NewLine = { source: 'cluster', level, text: `${kind} ${name}: ${state}` };
  return [{ objects: next }, isKnown ? undefined : line];
}
