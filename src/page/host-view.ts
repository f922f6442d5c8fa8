import { type Millis, renderDuration } from '../model/duration.ts';
import { railSteps } from './rail.ts';
import type { StepState } from '../engine/run-steps.ts';
import type { HostState, PageState, RailStep, Tone, Work } from './state.ts';

/** Something that a host is at now. */
export interface NowLine {
  readonly title: string;
  readonly detail: string;
  readonly percent?: number | undefined;
  readonly since: number;
  readonly tone: Tone;
}

/** What is said of a host at one glance. */
export interface HostView {
  readonly tone: Tone;
  readonly word: string;
  readonly now: readonly NowLine[];
  /** Active steps that have ended, of all. */
  readonly done: number;
  readonly all: number;
  /** Of the steps of the rail. */
  readonly percent: number;
}

const endStates: readonly StepState['state'][] = ['finished', 'reused', 'skipped'];

/** The longest that each step has taken on a host of this installation, by its id. */
export type StepTimes = ReadonlyMap<string, { readonly host: string; readonly took: Millis }>;

/** Measures the steps that have ended; what a wait takes depends on when it began. */
export function timesOf(hosts: readonly Pick<HostState, 'name' | 'rail' | 'steps'>[]): StepTimes {
  const times = new Map<string, { readonly host: string; readonly took: Millis }>();
  for (const { name, rail, steps } of hosts) {
    for (const { id, work } of railSteps(rail)) {
      const { state, since, until } = steps[id] ?? {};
      if (state !== 'finished' || since === undefined || until === undefined) continue;
      const took = until - since;
      if (work !== 'wait' && took >= 1000 && took > (times.get(id)?.took ?? 0))
        times.set(id, { host: name, took });
    }
  }
  return times;
}

/** Derives what is shown of a host from what is known. */
export function viewOf(host: HostState, times: StepTimes = new Map()): HostView {
  const active = railSteps(host.rail).filter(({ isActive }) => isActive);
  const states = active.flatMap(({ id, work }) => {
    const step = host.steps[id];
    return step === undefined ? [] : [{ ...step, work, measured: times.get(id) }];
  });
  const ended = states.filter(({ state }) => endStates.includes(state));
  const now = nowOf(
    host,
    states.filter(({ state }) => state === 'running'),
  );
  const all = Math.max(1, active.length);
  const counted = host.end?.isGood === true ? all : ended.length;
  const percent = Math.floor((100 * counted) / all);
  return { ...wordOf(host, now), now, done: counted, all: active.length, percent };
}

function wordOf(
  { end, status, stage, steps }: HostState,
  now: readonly NowLine[],
): Pick<HostView, 'tone' | 'word'> {
  if (end !== undefined) return { tone: end.isGood ? 'good' : 'bad', word: end.text };
  if (status === 'error') return { tone: 'bad', word: 'failed' };
  if (status.includes('pending-user-action')) return { tone: 'bad', word: 'needs a person' };
  if (status === 'cancelled') return { tone: 'bad', word: 'cancelled' };
  if (stage === 'Done') return { tone: 'good', word: 'Done' };
  const hasStarted = Object.keys(steps).length > 0;
  const unsaid = hasStarted ? 'installing' : 'not started';
  const word = stage === '' ? unsaid : stage;
  if (now.length > 0) {
    return { tone: now.every(({ tone }) => tone === 'waiting') ? 'waiting' : 'busy', word };
  }
  return { tone: hasStarted ? 'busy' : 'idle', word };
}

/** A step, and what it is for. */
type StepAt = StepState &
  Pick<RailStep, 'work'> & { readonly measured: ReturnType<StepTimes['get']> };

function nowOf(host: HostState, running: readonly StepAt[]): readonly NowLine[] {
  if (host.end !== undefined) return [];
  if (host.phase !== '') {
    const since = host.spans.at(-1)?.from ?? 0;
    return [{ title: host.phase, detail: host.stageInfo, since, tone: 'busy' }];
  }
  return running.map((step) => nowLine(step, host));
}

/** Whether a step that runs waits: it says so, or is one that does nothing else. */
export const isWaiting = ({ wait }: StepState, work: Work | undefined): boolean =>
  wait !== undefined || work === 'wait';

function nowLine(step: StepAt, { stage, stageInfo }: HostState): NowLine {
  const { title, wait, percent, info, since } = step;
  const attempt = step.attempt > 1 ? `attempt ${step.attempt}` : '';
  if (wait !== undefined) {
    const limit = wait.limit > 0 ? `at most ${renderDuration(wait.limit)}` : '';
    const detail = joined([attempt, wait.status, limit]);
    return { title, detail, since: wait.since, tone: 'waiting' };
  }
  const known = title === stage ? percentIn(stageInfo) : undefined;
  return {
    title,
    since,
    percent: percent ?? known,
    detail: joined([
      attempt,
      ...measures(step),
      wordsOf(info ?? (title === stage ? stageInfo : '')),
    ]),
    tone: isWaiting(step, step.work) ? 'waiting' : 'busy',
  };
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join(', ');

/** A text that is only a percentage is shown by a bar. */
const wordsOf = (info: string): string => (/^\d+ ?%$/.test(info) ? '' : info);

function measures({ bytesPerSecond, remaining, measured }: StepAt): readonly string[] {
  const took =
    measured === undefined ? '' : `took ${renderDuration(measured.took)} on ${measured.host}`;
  return [
    ...(remaining === undefined ? [took] : []),
    ...(bytesPerSecond === undefined ? [] : [`${(bytesPerSecond / 1e6).toFixed(1)} MB/s`]),
    ...(remaining === undefined ? [] : [`${renderDuration(remaining)} left`]),
  ];
}

/** The percentage in the text that the service has of a host. */
export function percentIn(info: string): number | undefined {
  const [, percent] = /^(\d{1,3}) ?%$/.exec(info) ?? [];
  return percent === undefined ? undefined : Math.min(100, Number(percent));
}

/** How the whole is, in a word and a tone. */
export function pageWord({
  end,
  hosts,
  cluster,
  lastError,
  refusal = 'not reached yet',
}: Pick<PageState, 'end' | 'hosts' | 'cluster' | 'lastError' | 'refusal'>): {
  readonly tone: Tone;
  readonly word: string;
} {
  if (end !== undefined) return { tone: end.isGood ? 'good' : 'bad', word: end.text };
  if (['error', 'cancelled'].includes(cluster.status)) return { tone: 'bad', word: cluster.status };
  if (cluster.status === 'installed') return { tone: 'good', word: 'installed' };
  const isEmpty = hosts.length === 0;
  const unanswered = lastError === undefined ? 'waiting for the service' : refusal;
  const unsaid = isEmpty ? unanswered : 'installing';
  const word = cluster.status === '' ? unsaid : cluster.status;
  return { tone: isEmpty ? 'waiting' : 'busy', word };
}
