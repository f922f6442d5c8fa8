import * as z from 'zod';
import { engineFailures } from '../../engine/failures.ts';
import { type Waiting, waitText } from '../../engine/run-steps.ts';
import { jsonIn } from '../../lib/json.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { renderDuration } from '../../model/duration.ts';

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
  sentence: word,
  status: word,
  attempt: z.number().optional(),
  reason: word,
  hint: word,
  failure: z
    .object({ code: z.string(), message: z.string(), why: word, hint: word })
    .optional()
    .catch(undefined),
});
type Line = z.infer<typeof Line>;

/** A wait in a log, with its last missing condition. */
interface LoggedWait extends Pick<Waiting, 'sentence' | 'status' | 'attempt'> {
  readonly step: string;
  /** Whether the log ends within the wait. */
  readonly isOpen: boolean;
}

/** A log without a manifest: of the controller, or of an agent that was stopped. */
export interface LogDocument {
  readonly v: 1;
  readonly role: string;
  readonly version: string;
  readonly run: string;
  /** Times of the first and the last line. */
  readonly from: string;
  readonly until: string;
  /** The end of the run: `failed`, `stopped`, `finished`; empty if the log ends before. */
  readonly state: string;
  readonly failure?: Line['failure'];
  /** The last step that began and did not finish. */
  readonly step?: Pick<Line, 'step' | 'title'> | undefined;
  readonly reason?: string | undefined;
  /** The waits of steps, in the order of their last change. */
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
  const { role, version, run } = begin;
  const end = lines.findLast((line) => Object.hasOwn(ends, line.msg));
  const { msg = '', failure, reason } = end ?? {};
  const waits = waitsIn(lines);
  const named = lines.findLast(({ hint }) => hint !== undefined)?.hint;
  return {
    v: 1,
    role,
    version,
    run,
    from: first.time,
    until: last.time,
    state: ends[msg] ?? '',
    failure,
    reason,
    step: openStep(lines),
    waits,
    warnings: warningsIn(lines),
    hint: failure?.hint ?? operatorHint(waits) ?? named ?? stopHint(msg),
  };
}

const stopHint = (msg: string): string | undefined =>
  msg === 'run stopped' ? engineFailures['run.stopped'].hint : undefined;

function openStep(lines: readonly Line[]): LogDocument['step'] {
  const open = new Map<string, Line>();
  for (const line of lines) {
    if (line.msg === 'step started') open.set(line.step, line);
    if (line.msg === 'step finished') open.delete(line.step);
  }
  const last = [...open.values()].at(-1);
  return last && { step: last.step, title: last.title };
}

/** The waits of steps. A controller, whose title is its sentence, waits for ever: no failure. */
function waitsIn(lines: readonly Line[]): readonly LoggedWait[] {
  const titles = new Map<string, string>();
  const waits = new Map<string, LoggedWait>();
  for (const { msg, step, title, sentence = '', status = '', attempt } of lines) {
    if (msg === 'step started') titles.set(step, title);
    const key = `${step} ${sentence}`;
    const before = waits.get(key);
    if (msg === 'waiting') {
      waits.delete(key);
      waits.set(key, { step, sentence, status, attempt, isOpen: true });
    } else if (msg === 'waits no more' && before !== undefined)
      waits.set(key, { ...before, isOpen: false });
  }
  return [...waits.values()].filter(
    ({ step, sentence }) => titles.has(step) && titles.get(step) !== sentence,
  );
}

function warningsIn(lines: readonly Line[]): LogDocument['warnings'] {
  const warnings = new Map<string, number>();
  for (const line of lines) {
    // A retry of a request is a part of its wait, and the end is shown by itself.
    const isShownElsewhere = line.step === 'service/retry' || Object.hasOwn(ends, line.msg);
    if (isShownElsewhere || !['warn', 'error'].includes(line.level)) continue;
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
  const [, name] = /(?:^|; )([\w-]+) is failed\b/.exec(statuses) ?? [];
  return name === undefined ? undefined : `oc describe clusteroperator ${name}`;
}

/** Maximum numbers of waits and warnings that are shown, and of characters in a line. */
const shownWaits = 4;
const shownWarnings = 3;
const longestLine = 600;

/** A log for people. */
export function renderLog(log: LogDocument): string {
  const { role, version, run, from, until, state, failure, reason, step } = log;
  const { waits, warnings, hint } = log;
  const took = renderDuration(Date.parse(until) - Date.parse(from));
  const lines = [
    `${role === '' ? 'a log' : `${role}, bootwright ${version}`}${run === '' ? '' : `, run ${run}`}`,
    `${state === '' ? 'ends without an end of the run' : state} ${until}, ${took} after its begin`,
    ...(failure === undefined ? [] : [`${failure.code}: ${failure.message}`]),
    ...(failure?.why === undefined ? [] : [`why: ${failure.why}`]),
    ...(reason === undefined ? [] : [`why: ${reason}`]),
    ...(step === undefined ? [] : [`in ${step.step}, ${step.title}`]),
    ...waits
      .slice(-shownWaits)
      .map((wait) => `${wait.step} ${waitText(wait, wait.isOpen ? 'was waiting' : 'waited')}`),
    ...warnings
      .slice(-shownWarnings)
      .map(({ text, times }) => `warning: ${text}${times > 1 ? ` (${times} times)` : ''}`),
    ...(hint === undefined ? [] : [`next: ${hint}`]),
  ];
  return lines.map((line) => `${plainLine(line, longestLine)}\n`).join('');
}
