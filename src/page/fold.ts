import { plainLine } from '../lib/plain-text.ts';
import { eventLine } from './event-line.ts';
import { closed, closedOf, hostAfterEvent, withFailure, withSpan } from './host-events.ts';
import { allEnded, type StepState } from '../engine/run-steps.ts';
import { isLadder, railSteps, stageStep, workOfStage } from './rail.ts';
import {
  caps,
  type HostState,
  type LineLevel,
  type ObjectState,
  type PageState,
  type PageUpdate,
} from './state.ts';

const short = (text: string): string => plainLine(text, caps.text);

/** The page after an update. */
export function pageAfter(page: PageState, update: PageUpdate): PageState {
  if (page.end !== undefined && update.kind !== 'line') return page;
  // A table is called by the kind of what it is given, which the types cannot follow.
  const next = (changes[update.kind] as Handlers<PageState>['line'])(page, update as Of<'line'>);
  const line = (lines[update.kind] as Handlers<Words | undefined>['line'])(
    page,
    update as Of<'line'>,
  );
  const at = Math.max(page.at, update.at);
  return { ...(line === undefined ? next : withLine(next, update.at, line)), at };
}

type Of<Kind> = Extract<PageUpdate, { readonly kind: Kind }>;

type Handlers<Result> = {
  readonly [Kind in PageUpdate['kind']]: (page: PageState, update: Of<Kind>) => Result;
};

const changes: Handlers<PageState> = {
  begin: (page, { title, startedAt }) => ({
    ...page,
    title: short(title ?? page.title),
    startedAt: startedAt ?? page.startedAt,
  }),
  host: (page, update) => withHost(page, update),
  event: (page, { host: id, event }) => onHost(page, id, (host) => hostAfterEvent(host, event)),
  stage: (page, update) => onHost(page, update.host, (host) => afterStage(host, update)),
  phase: (page, update) => onHost(page, update.host, (host) => afterPhase(host, update)),
  'host-end': (page, update) => onHost(page, update.host, (host) => afterEnd(host, update)),
  cluster: (page, { status, info }) => ({
    ...page,
    cluster: { status: short(status), info: short(info) },
  }),
  object: (page, update) => ({ ...page, objects: withObject(page.objects, update) }),
  fault: (page, update) => ({ ...page, faults: withFault(page.faults, update) }),
  source: (page, { at, lastError, refusal }) =>
    lastError === undefined
      ? { ...page, lastError, refusal, answeredAt: at }
      : { ...page, lastError: short(lastError), refusal },
  line: (page) => page,
  end: (page, { at, isGood, text, details }) => ({
    ...page,
    hosts: page.hosts.map((host) => ({ ...host, spans: closed(host.spans, at) })),
    end: { at, isGood, text: short(text), details: details.map(short) },
  }),
};

/** A host that is known keeps what is known of it. */
function withHost(page: PageState, update: Of<'host'>): PageState {
  const { id, rail, hardware = '' } = update;
  const [name, role] = [short(update.name), short(update.role)];
  const known = { id, name, role, rail, hardware: short(hardware) };
  if (page.hosts.some((host) => host.id === id)) {
    return onHost(page, id, (host) => ({ ...host, ...known }));
  }
  if (page.hosts.length >= caps.hosts) return page;
  const fresh = { steps: {}, spans: [], stage: '', stageInfo: '', status: '', phase: '' };
  return { ...page, hosts: [...page.hosts, { ...fresh, ...known }] };
}

const onHost = (
  page: PageState,
  id: string,
  change: (host: HostState) => HostState,
): PageState => ({
  ...page,
  hosts: page.hosts.map((host) => (host.id === id ? change(host) : host)),
});

const failed: ReadonlySet<string> = new Set(['error', 'cancelled']);

/** A host that somebody reset begins again. */
const begunAgain = (host: HostState, status: string): HostState =>
  host.end?.isGood === false && failed.has(host.status) && status !== '' && !failed.has(status)
    ? { ...host, steps: {}, stage: '', end: undefined, failure: undefined }
    : host;

function afterStage(before: HostState, update: Of<'stage'>): HostState {
  const { at, info, status, since = at } = update;
  const host = begunAgain(before, status);
  const stage = short(update.stage);
  const known = { ...host, stage, stageInfo: short(info), status: short(status) };
  if (stage === '' || stage === host.stage) return known;
  const steps = railSteps(host.rail);
  const place = steps.findIndex(({ id }) => id === stageStep(stage));
  if (place === -1) return known;
  const isLast = place === steps.length - 1;
  const entries = steps.slice(0, place + 1).flatMap(({ id, title }, index) => {
    if (!id.startsWith(stageStep(''))) return [];
    if (index === place)
      return [[id, stageState({ step: id, title, since, attempt: 1 }, isLast)] as const];
    // One that nobody saw was passed all the same.
    const before = host.steps[id] ?? { step: id, title, since, attempt: 1 };
    return [[id, { until: since, ...before, state: 'finished' as const }] as const];
  });
  // Where an agent is listened to, its steps and the phases of the machine say where the time goes.
  const ended = closed(host.spans, since);
  const span = { track: '', title: stage, work: workOfStage(stage), from: since };
  return {
    ...known,
    steps: { ...host.steps, ...Object.fromEntries(entries) },
    ...(isLadder(host.rail) ? { spans: isLast ? ended : withSpan(ended, span) } : {}),
  };
}

const stageState = (known: Omit<StepState, 'state'>, isLast: boolean): StepState =>
  isLast ? { ...known, state: 'finished', until: known.since } : { ...known, state: 'running' };

function afterPhase(host: HostState, { at, ...update }: Of<'phase'>): HostState {
  const phase = short(update.phase);
  if (phase === host.phase) return host;
  if (phase === '') {
    return { ...host, phase, spans: closedOf(host.spans, host.phase, { until: at }) };
  }
  // Before its agent a host starts from its live medium.
  const work = Object.keys(host.steps).length === 0 ? 'live' : 'boot';
  const span = { track: '', title: phase, work, from: at } as const;
  const spans = withSpan(closed(host.spans, at), span);
  // A reboot can take the last events of the agent that asked for it.
  const steps = host.phase === '' ? allEnded(host.steps, at, 'finished') : host.steps;
  return { ...host, phase, steps, spans };
}

/** The first end of a host is its end. */
const afterEnd = (host: HostState, { at, isGood, text, failure }: Of<'host-end'>): HostState => ({
  ...host,
  failure: isGood ? undefined : withFailure(host.failure, failure),
  end: host.end ?? { at, isGood, text: short(text) },
  spans: closed(host.spans, at),
});

/** An object with the texts that the page keeps of it, so that the same one is found again. */
const shown = (object: Of<'object'>['object']): Of<'object'>['object'] => ({
  ...object,
  name: short(object.name),
  state: short(object.state),
});

function withObject(
  objects: readonly ObjectState[],
  { at, object, isGone }: Of<'object'>,
): readonly ObjectState[] {
  const { kind, name, state, tone } = shown(object);
  const isSame = (one: ObjectState): boolean => one.kind === kind && one.name === name;
  const before = objects.find(isSame);
  if (isGone === true) return objects.filter((one) => !isSame(one));
  const goodAt = before?.goodAt ?? (tone === 'good' ? at : undefined);
  const since = before?.state === state ? before.at : at;
  const known = { kind, name, state, tone, at: since, goodAt };
  if (before !== undefined) return objects.map((one) => (isSame(one) ? known : one));
  return [...objects, known].slice(-caps.objects);
}

function withFault(
  faults: PageState['faults'],
  { at, ...update }: Of<'fault'>,
): PageState['faults'] {
  const [where, what] = [short(update.where), short(update.what)];
  const last = faults.at(-1);
  if (last?.where === where && last.what === what) {
    return [...faults.slice(0, -1), { ...last, times: last.times + 1 }];
  }
  return [...faults, { at, where, what, times: 1 }].slice(-caps.faults);
}

/** A line before it has its number. */
interface Words {
  readonly source: string;
  readonly level: LineLevel;
  readonly text: string;
}

function withLine(page: PageState, at: number, words: Words): PageState {
  const n = page.lineCount + 1;
  const line = { n, at, level: words.level, source: short(words.source), text: short(words.text) };
  return { ...page, lineCount: n, lines: [...page.lines, line].slice(-caps.lines) };
}

/** What an update adds to the log; most say something that is new. */
const lines: Handlers<Words | undefined> = {
  begin: () => undefined,
  host: () => undefined,
  event: (page, update) => {
    const line = eventLine(update.event, lastWait(page, update));
    return line && { source: nameOf(page, update.host), ...line };
  },
  stage: (page, update) => stageLine(page, update),
  phase: (page, { host: id, phase }) => {
    const host = page.hosts.find((one) => one.id === id);
    const isNews = phase !== '' && phase !== host?.stage;
    return isNews ? { source: nameOf(page, id), level: 'info', text: phase } : undefined;
  },
  'host-end': (page, { host: id, isGood, text }) => {
    const hasEnded = page.hosts.find((host) => host.id === id)?.end !== undefined;
    const level = isGood ? 'info' : 'error';
    return hasEnded ? undefined : { source: nameOf(page, id), level, text };
  },
  cluster: (page, { status }) =>
    short(status) === page.cluster.status
      ? undefined
      : { source: 'service', level: 'info', text: `cluster is ${status}` },
  object: (page, update) => objectLine(page, update),
  fault: (_, { where, what }) => ({ source: where, level: 'warn', text: `fault: ${what}` }),
  source: (page, update) => sourceLine(page, update),
  line: (_, update) => update,
  end: (_, { isGood, text }) => ({ source: 'page', level: isGood ? 'info' : 'error', text }),
};

const nameOf = (page: PageState, id: string): string =>
  page.hosts.find((host) => host.id === id)?.name ?? id;

const lastWait = (page: PageState, { host, event }: Of<'event'>): string | undefined =>
  event.type === 'wait.updated'
    ? page.hosts.find(({ id }) => id === host)?.steps[event.step]?.wait?.status
    : undefined;

/** A percentage is no news. */
const withoutPercent = (text: string): string => text.replace(/\d{1,3} ?%/, '');

function stageLine(
  page: PageState,
  { host: id, stage, info, status }: Of<'stage'>,
): Words | undefined {
  const host = page.hosts.find((one) => one.id === id);
  if (host === undefined) return undefined;
  const isNews = (before: string, now: string): boolean =>
    withoutPercent(before) !== withoutPercent(now);
  const source = host.name;
  if (status === 'error' && host.status !== 'error') {
    return { source, level: 'error', text: `status error${info === '' ? '' : `: ${info}`}` };
  }
  if (stage === '' || (short(stage) === host.stage && !isNews(host.stageInfo, short(info))))
    return undefined;
  return { source, level: 'info', text: `stage ${stage}${info === '' ? '' : `: ${info}`}` };
}

function objectLine(page: PageState, { object, isGone }: Of<'object'>): Words | undefined {
  const { kind, name, state, tone } = shown(object);
  const before = page.objects.find((one) => one.kind === kind && one.name === name);
  const source = 'cluster';
  if (isGone === true) return before && { source, level: 'debug', text: `${kind} ${name} is gone` };
  if (before?.state === state) return undefined;
  return { source, level: tone === 'bad' ? 'warn' : 'info', text: `${kind} ${name}: ${state}` };
}

function sourceLine(page: PageState, { lastError }: Of<'source'>): Words | undefined {
  if (lastError === page.lastError) return undefined;
  return lastError === undefined
    ? { source: 'service', level: 'info', text: 'answers again' }
    : { source: 'service', level: 'warn', text: lastError };
}
