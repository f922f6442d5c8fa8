import * as z from 'zod';
import { type Waiting, waitText } from '../../engine/run-steps.ts';
import { jsonIn } from '../../lib/json.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { renderDuration } from '../../model/duration.ts';
import { resetCall } from '../../model/reset.ts';

const word = z.string().optional().catch(undefined);
const name = z.string().catch('');

/** A line of a log in JSON, as an agent and the controller write it. */
const Line = z.object({
  time: z.iso.datetime(),
  level: z.string(),
  msg: z.string(),
  step: name,
  title: name,
  run: name,
  role: name,
  version: name,
  hostname: word,
  stage: word,
  isReached: z.boolean().optional().catch(undefined),
  sentence: word,
  status: word,
  attempt: z.number().optional(),
  reason: word,
  hint: word,
  failure: z
    .object({
      code: z.string(),
      message: z.string(),
      why: word,
      hint: word,
      context: z.object({ hostStatus: word }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Line = z.infer<typeof Line>;

/** A wait in a log, with its last missing condition. */
interface LoggedWait extends Pick<Waiting, 'sentence' | 'status' | 'attempt'> {
  readonly step: string;
  /** Whether the log ends within the wait. */
  readonly isOpen: boolean;
  /** Whether the condition came true. */
  readonly isReached: boolean;
}

/** A log without a manifest: of the controller, or of an agent that was stopped. */
export interface LogDocument {
  readonly v: 1;
  readonly role: string;
  readonly version: string;
  readonly run: string;
  /** Name of the host; a controller has none. */
  readonly hostname?: string | undefined;
  /** Times of the first and the last line. */
  readonly from: string;
  readonly until: string;
  /** The end of the run: `failed`, `stopped`, `finished`; empty if the log ends before. */
  readonly state: string;
  readonly failure?: Line['failure'];
  /** How the service ended the installation, if the controller saw it fail: `error: why`. */
  readonly clusterEnd?: string | undefined;
  /** The status of the host at the service that has stopped its agent. */
  readonly hostStatus?: string | undefined;
  /** The last step that began and did not finish. */
  readonly step?: Pick<Line, 'step' | 'title'> | undefined;
  readonly reason?: string | undefined;
  /** The waits that explain the end: those that did not come true, and those for operators. */
  readonly waits: readonly LoggedWait[];
  /** Warnings and errors, each once. */
  readonly warnings: readonly { readonly text: string; readonly times: number }[];
  /** The next action of a person, if the log names it. */
  readonly hint?: string | undefined;
}

const ends: Readonly<Record<string, string>> = {
  'run finished': 'finished',
  'run failed': 'failed',
  'run stopped': 'stopped',
};

/** The summary of a log; undefined for a text that is not such a log. */
export function readLog(text: string): LogDocument | undefined {
  const all = text.split('\n').flatMap((line) => Line.safeParse(jsonIn(line)).data ?? []);
  // A container that was started again adds to the log of its pod. A run warns before it starts.
  const begin = all.findLast(({ msg }) => msg === 'run started') ?? all[0];
  const lines = all.slice(all.findIndex((line) => line.run === begin?.run));
  const [first] = lines;
  const last = lines.at(-1);
  if (begin === undefined || first === undefined || last === undefined) return undefined;
  const { role, version, run, hostname } = begin;
  const end = lines.findLast((line) => Object.hasOwn(ends, line.msg));
  const { msg = '', failure, reason } = end ?? {};
  const state = ends[msg] ?? '';
  const waits = waitsIn(lines);
  const refusedIn = hostStatusIn(lines);
  const hostStatus = state === 'stopped' ? refusedIn : undefined;
  const named = lines.findLast(({ hint }) => hint !== undefined)?.hint;
  const stopped = state === 'stopped' ? afterStop(role, lines, refusedIn) : undefined;
  return {
    v: 1,
    role,
    version,
    run,
    hostname,
    from: first.time,
    until: last.time,
    state,
    failure,
    reason,
    clusterEnd: clusterEndIn(lines),
    hostStatus,
    step: openStep(lines),
    waits,
    warnings: warningsIn(lines, failure, refusedIn),
    hint: failure?.hint ?? operatorHint(waits) ?? stopped ?? named,
  };
}

/** The status of the host in the answer by which the service refused the report of the stop. */
const hostStatusIn = (lines: readonly Line[]): string | undefined =>
  lines.findLast(isRefusedReport)?.failure?.context?.hostStatus;

const isRefusedReport = ({ msg, failure }: Line): boolean =>
  msg === 'stage not reported' && failure?.context?.hostStatus !== undefined;

/** The id of the cluster in a message that names its reset. */
const clusterIdIn = (lines: readonly Line[]): string | undefined =>
  lines
    .map(({ msg }) => /\/clusters\/([^/\s]+)\/actions\/reset/.exec(msg)?.[1])
    .findLast((id) => id !== undefined);

/** The cluster as the controller saw it at the end of a failed installation. */
const clusterEndIn = (lines: readonly Line[]): string | undefined =>
  lines
    .filter(({ step }) => step === 'controller/wait-for-end')
    .map(({ msg }) => /^the cluster is ((?:error|cancelled)\b.*)$/s.exec(msg)?.[1])
    .findLast((text) => text !== undefined);

/**
 * The next action after an agent was stopped: an agent reports its stop as a failure. A program in
 * a pod is started again by itself.
 */
function afterStop(
  role: string,
  lines: readonly Line[],
  hostStatus: string | undefined,
): string | undefined {
  if (/^(?:controller$|node-)/.test(role)) return undefined;
  if (hostStatus?.startsWith('resetting') === true)
    return 'boot this host from its installation medium again; the service has reset the cluster';
  const isReported = lines.some(({ msg, stage }) => msg === 'stage reported' && stage === 'Failed');
  return hostStatus !== undefined || isReported
    ? `reset the cluster at the service before another run (${resetCall(clusterIdIn(lines))})`
    : 'run the same "podman run" line again; it resumes where it stopped';
}

function openStep(lines: readonly Line[]): LogDocument['step'] {
  const open = new Map<string, Line>();
  for (const line of lines) {
    if (line.msg === 'step started') open.set(line.step, line);
    if (line.msg === 'step finished') open.delete(line.step);
  }
  const last = [...open.values()].at(-1);
  return last && { step: last.step, title: last.title };
}

/** The message of a wait's end; `waits no more` in logs of 1.1.0 and earlier. */
const waitEnds: ReadonlySet<string> = new Set(['wait ended', 'waits no more']);

/** An operator in the status of a wait, if it did not become available. */
const failedOperator = /(?:^|; )([\w-]+) is failed\b/;

/** The waits of steps. A controller, whose title is its sentence, waits for ever: no failure. */
function waitsIn(lines: readonly Line[]): readonly LoggedWait[] {
  const titles = new Map<string, string>();
  const finished = new Set<string>();
  const waits = new Map<string, LoggedWait>();
  for (const line of lines) {
    const { msg, step, title, sentence = '', status = '', attempt, isReached = false } = line;
    if (msg === 'step started') titles.set(step, title);
    if (msg === 'step started') finished.delete(step);
    if (msg === 'step finished') finished.add(step);
    const key = `${step} ${sentence}`;
    const before = waits.get(key);
    if (msg === 'waiting') {
      waits.delete(key);
      waits.set(key, { step, sentence, status, attempt, isOpen: true, isReached });
    } else if (waitEnds.has(msg) && before !== undefined)
      waits.set(key, { ...before, isOpen: false, isReached });
  }
  return [...waits.values()].filter(
    ({ step, sentence, status, isReached }) =>
      titles.has(step) &&
      titles.get(step) !== sentence &&
      ((!isReached && !finished.has(step)) || failedOperator.test(status)),
  );
}

/** A note that repeats why the service has stopped a run; the refused report has its status. */
const stoppedByService = /^the inventory service has stopped this run\b/;

function warningsIn(
  lines: readonly Line[],
  end: Line['failure'],
  hostStatus: string | undefined,
): LogDocument['warnings'] {
  const warnings = new Map<string, number>();
  for (const line of lines) {
    const { step, msg, level, failure } = line;
    // A retry of a request is a part of its wait, and the end is shown by itself.
    const isShownElsewhere =
      step === 'service/retry' ||
      Object.hasOwn(ends, msg) ||
      (hostStatus !== undefined && (isRefusedReport(line) || stoppedByService.test(msg))) ||
      (failure !== undefined && failure.code === end?.code && failure.message === end.message);
    if (isShownElsewhere || !['warn', 'error'].includes(level)) continue;
    const warning = warningOf(line);
    const times = warnings.get(warning) ?? 0;
    warnings.delete(warning);
    warnings.set(warning, times + 1);
  }
  return [...warnings].map(([text, times]) => ({ text, times }));
}

function warningOf({ step, msg, reason, failure }: Line): string {
  const what = failure === undefined ? reason : `${failure.code}: ${failure.message}`;
  return `${step === '' ? '' : `${step}: `}${msg}${what === undefined ? '' : `: ${what}`}`;
}

/** The command that describes the operator for which a wait did not end well. */
function operatorHint(waits: readonly LoggedWait[]): string | undefined {
  const statuses = waits.map(({ status }) => status).join('; ');
  const [, name] = failedOperator.exec(statuses) ?? [];
  return name === undefined ? undefined : `oc describe clusteroperator ${name}`;
}

/** Maximum numbers of waits and warnings that are shown, and of characters in a line. */
const shownWaits = 4;
const shownWarnings = 3;
const longestLine = 600;

/** A log for people: what happened, why and what to do next, then the details. */
export function renderLog(log: LogDocument): string {
  const { role, version, run, hostname, failure, state, step, warnings, hint } = log;
  const who = [role, ...(hostname === undefined ? [] : [hostname])].join(' ');
  const why = whyOf(log);
  const waits = log.waits.filter(({ status }) => status !== why);
  const lines = [
    `${role === '' ? 'a log' : `${who}, bootwright ${version}`}${run === '' ? '' : `, run ${run}`}`,
    ...clusterEndLines(log),
    endLine(log),
    ...(failure === undefined ? [] : [`${failure.code}: ${failure.message}`]),
    ...(why === undefined ? [] : [`why: ${why}`]),
    ...(hint === undefined ? [] : [`next: ${hint}`]),
    ...(step === undefined || step.step === lastUpload || state === 'finished'
      ? []
      : [`in ${step.step}, ${step.title}`]),
    ...waits
      .slice(-shownWaits)
      .map((wait) => `${wait.step} ${waitText(wait, wait.isOpen ? 'was waiting' : 'waited')}`),
    ...warnings
      .slice(-shownWarnings)
      .map(({ text, times }) => `warning: ${text}${times > 1 ? ` (${times} times)` : ''}`),
  ];
  return lines.map((line) => `${plainLine(line, longestLine)}\n`).join('');
}

/** How the service ended the installation of a controller that has seen it fail. */
function clusterEndLines({ clusterEnd }: LogDocument): readonly string[] {
  const [, status, why] = /^(\w+)(?:: (.*))?$/s.exec(clusterEnd ?? '') ?? [];
  if (status === undefined) return [];
  return [`failed: the service ended the installation${why ? `: ${why}` : ` in status ${status}`}`];
}

/** A controller uploads its log before its run ends, so that log never has the end. */
const lastUpload = 'controller/upload-final-logs';

/** How and when a log ends. */
function endLine({ from, until, state, reason, hostStatus, step }: LogDocument): string {
  const when = `${until}, ${renderDuration(Date.parse(until) - Date.parse(from))} after its start`;
  if (state === '')
    return step?.step === lastUpload
      ? `the log ends while the controller uploads its logs, ${when}`
      : `the log ends before its run, ${when}`;
  const signal = hostStatus === undefined ? bySignal.exec(reason ?? '')?.[0] : undefined;
  return `${signal ?? state} ${when}`;
}

const bySignal = /^stopped by (SIG[A-Z]+)$/;

/** The reason of an end, in the words of the service or of the run. */
function whyOf({
  failure,
  reason,
  hostStatus,
  clusterEnd,
  waits,
}: LogDocument): string | undefined {
  if (failure !== undefined) return failure.why;
  const signal = bySignal.exec(reason ?? '')?.[1];
  if (hostStatus !== undefined)
    return `the service stopped this host${signal === undefined ? '' : ` (${signal})`} because ${becauseOf(hostStatus)}`;
  if (clusterEnd !== undefined)
    return waits.findLast(({ status }) => failedOperator.test(status))?.status;
  return signal === undefined ? reason : undefined;
}

function becauseOf(hostStatus: string): string {
  if (hostStatus === 'error')
    return 'the installation of the cluster failed; look for the host that failed first at the service';
  if (hostStatus === 'cancelled') return 'the installation was cancelled';
  if (hostStatus.startsWith('resetting')) return 'the cluster was reset';
  return `it has the host in status ${hostStatus}`;
}
