import { type StepState, waitText } from '../engine/run-steps.ts';
import { type Millis, renderDuration, unlimited } from '../model/duration.ts';
import type { Stage } from '../model/stage.ts';
import { railSteps } from './rail.ts';
import type { HostState, PageState, RailStep, Tone, Work } from './state.ts';

/** A running step of a host. */
export interface CurrentStep {
  readonly title: string;
  readonly detail: string;
  readonly percent?: number | undefined;
  readonly since: number;
  readonly tone: Tone;
}

/** Summary of a host's state. */
export interface HostView {
  readonly tone: Tone;
  readonly word: string;
  readonly current: readonly CurrentStep[];
  /** Number of active steps that have ended. */
  readonly done: number;
  readonly all: number;
  /** Progress through the steps of the rail. */
  readonly percent: number;
}

/** The longest duration of each step on the hosts of this installation, by the step's id. */
export type StepTimes = ReadonlyMap<string, { readonly host: string; readonly took: Millis }>;

/** Measures the ended steps, except waits, whose length depends on their start. */
export function timesOf(hosts: readonly Pick<HostState, 'name' | 'rail' | 'steps'>[]): StepTimes {
  const times = new Map<string, { readonly host: string; readonly took: Millis }>();
  for (const { name, rail, steps } of hosts) {
    for (const { id, work } of railSteps(rail)) {
      const { state, since = 0, until = 0 } = steps[id] ?? {};
      const took = until - since;
      const isMeasured = state === 'finished' && work !== 'wait' && took >= 1000;
      if (isMeasured && took > (times.get(id)?.took ?? 0)) times.set(id, { host: name, took });
    }
  }
  return times;
}

/** Whether a host failed by itself, and was not stopped because of another. */
export const hasFailed = ({ end, failure, status }: HostState): boolean =>
  end === undefined
    ? failure !== undefined || status === 'error'
    : !end.isGood && end.isStopped !== true;

/** Failed hosts in the order of their failures, then the others in their order. */
export function failedFirst(hosts: readonly HostState[]): readonly HostState[] {
  const failed = hosts.filter(hasFailed);
  const failureTime = ({ end }: HostState): number => end?.at ?? Infinity;
  return [
    ...failed.toSorted((one, other) => failureTime(one) - failureTime(other) || 0),
    ...hosts.filter((host) => !failed.includes(host)),
  ];
}

/** Why the service ended the hosts without a failure of their own; empty if nothing is known. */
export function stopCause({ hosts, cluster }: Pick<PageState, 'hosts' | 'cluster'>): string {
  if (cluster.status === 'cancelled') return 'the installation was cancelled';
  const [first] = failedFirst(hosts).filter(hasFailed);
  if (first !== undefined) return `${first.name} failed`;
  return cluster.status === 'error' ? 'the cluster failed' : '';
}

/** Stages of a host that starts from its disk: it has no agent that the service could stop. */
const stagesOnDisk: readonly string[] = [
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
] satisfies readonly Stage[];

/** The end of a host that did not fail by itself: it was stopped, or had left before. */
export function stoppedText({ stage }: Pick<HostState, 'stage'>, cause: string): string {
  if (stagesOnDisk.includes(stage))
    return `rebooted into its disk${cause === '' ? '' : ` before ${cause}`}`;
  return `stopped${cause === '' ? '' : ` because ${cause}`}`;
}

/**
 * Derives the view of a host from its state.
 * @param times of the same steps on other hosts
 * @param cause why the service ended hosts without a failure of their own
 */
export function viewOf(host: HostState, times: StepTimes = new Map(), cause = ''): HostView {
  const active = railSteps(host.rail).filter(({ isActive }) => isActive);
  const isEnded = ({ id }: RailStep): boolean =>
    ['finished', 'reused', 'skipped'].includes(host.steps[id]?.state ?? '');
  const all = Math.max(1, active.length);
  const done = host.end?.isGood === true ? all : active.filter(isEnded).length;
  const current = currentSteps(host, active, times);
  return {
    ...wordOf(host, current, stoppedText(host, cause)),
    current,
    done,
    all: active.length,
    percent: Math.floor((100 * done) / all),
  };
}

function wordOf(
  { end, status, stage, steps }: HostState,
  current: readonly CurrentStep[],
  stopped: string,
): Pick<HostView, 'tone' | 'word'> {
  if (end?.isStopped === true) return { tone: 'stopped', word: stopped };
  if (end !== undefined) return { tone: end.isGood ? 'good' : 'bad', word: end.text };
  if (status === 'error') return { tone: 'bad', word: 'failed' };
  if (status.includes('pending-user-action')) return { tone: 'bad', word: 'needs user action' };
  if (status === 'cancelled' || status === 'stopped') return { tone: 'stopped', word: stopped };
  if (stage === 'Done') return { tone: 'good', word: 'Done' };
  const hasStarted = Object.keys(steps).length > 0;
  const word = stage || (hasStarted ? 'installing' : 'not started');
  if (current.length === 0) return { tone: hasStarted ? 'busy' : 'idle', word };
  const isWaitingAlone = current.every(({ tone }) => tone === 'waiting');
  return { tone: isWaitingAlone ? 'waiting' : 'busy', word };
}

function currentSteps(
  host: HostState,
  active: readonly RailStep[],
  times: StepTimes,
): readonly CurrentStep[] {
  const { end, phase, stageInfo, spans, steps } = host;
  if (end !== undefined) return [];
  if (phase !== '')
    return [{ title: phase, detail: stageInfo, since: spans.at(-1)?.from ?? 0, tone: 'busy' }];
  return active.flatMap((step) => {
    const state = steps[step.id];
    return state?.state === 'running' ? [currentStep(step, state, host, times)] : [];
  });
}

/** Whether a running step waits: by its own report, or because waiting is its work. */
export const isWaiting = ({ wait }: StepState, work: Work | undefined): boolean =>
  wait !== undefined || work === 'wait';

function currentStep(
  { id, work }: RailStep,
  state: StepState,
  { stage, stageInfo }: HostState,
  times: StepTimes,
): CurrentStep {
  const { title, wait, info, since, bytesPerSecond, remaining } = state;
  const attempt = state.attempt > 1 ? `attempt ${state.attempt}` : '';
  if (wait !== undefined) {
    const limit =
      wait.limit > 0 && wait.limit < unlimited ? `at most ${renderDuration(wait.limit)}` : '';
    // The title of the step says what a poll waits for, but not what a request is sent to.
    const status = wait.attempt === undefined ? wait.status : waitText(wait);
    const detail = joined([attempt, status, limit]);
    return { title, detail, since: wait.since, tone: 'waiting' };
  }
  const ofStage = title === stage ? stageInfo : '';
  const text = info ?? ofStage;
  const other = remaining === undefined ? times.get(id) : undefined;
  const detail = joined([
    attempt,
    other === undefined ? '' : `took ${renderDuration(other.took)} on ${other.host}`,
    bytesPerSecond === undefined ? '' : `${(bytesPerSecond / 1e6).toFixed(1)} MB/s`,
    remaining === undefined ? '' : `${renderDuration(remaining)} left`,
    // A bar shows a percentage without text.
    percentIn(text) === undefined ? text : '',
  ]);
  const tone = isWaiting(state, work) ? 'waiting' : 'busy';
  return { title, since, percent: state.percent ?? percentIn(ofStage), detail, tone };
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join(', ');

/** The percentage in a text of the service that has no other content. */
function percentIn(text: string): number | undefined {
  const [, percent] = /^(\d{1,3}) ?%$/.exec(text) ?? [];
  return percent === undefined ? undefined : Math.min(100, Number(percent));
}

/** The state of the whole installation as a word and a tone. */
export function pageWord({
  end,
  hosts,
  cluster: { status },
  lastError,
  refusal = 'not reached yet',
}: Pick<PageState, 'end' | 'hosts' | 'cluster' | 'lastError' | 'refusal'>): {
  readonly tone: Tone;
  readonly word: string;
} {
  if (end !== undefined) return { tone: end.isGood ? 'good' : 'bad', word: end.text };
  if (status === 'error' || status === 'cancelled') return { tone: 'bad', word: status };
  if (status === 'installed') return { tone: 'good', word: status };
  if (hosts.length > 0) return { tone: 'busy', word: status || 'installing' };
  const unanswered = lastError === undefined ? 'waiting for the service' : refusal;
  return { tone: 'waiting', word: status || unanswered };
}
