import * as z from 'zod';
import type { RunEvent } from '../engine/events.ts';

const instant = z.number().describe('milliseconds since 1970');
const span = z.number().describe('milliseconds');

/** What a step that is running waits for. */
const Wait = z.object({
  sentence: z.string().describe('what must become true'),
  status: z.string().describe('what is missing'),
  since: instant,
  limit: span.describe('milliseconds from since; then the step fails'),
});

/** A step that is running. */
const RunningStep = z.object({
  step: z.string(),
  title: z.string(),
  lane: z.string().optional(),
  since: instant,
  attempt: z.int(),
  info: z.string().optional(),
  percent: z.number().optional().describe('0 to 100; left out while an attempt is behind the last'),
  bytesPerSecond: z.number().optional(),
  remaining: span.optional().describe('milliseconds to the end of the step, at the present rate'),
  wait: Wait.optional(),
});
export type RunningStep = z.infer<typeof RunningStep>;

/**
 * How a run stands. A field is never removed within one version; those that a newer agent adds are
 * passed over.
 */
export const RunStatus = z.object({
  v: z.literal(1).describe('version of this form'),
  run: z.string(),
  role: z.string(),
  version: z.string(),
  state: z.enum(['running', 'finished', 'left the host', 'failed', 'stopped']),
  since: instant,
  updated: instant,
  isResumed: z.boolean(),
  process: z
    .object({ pid: z.int(), startTicks: z.number(), bootId: z.string() })
    .optional()
    .describe('whose run it is: pid, field 22 of /proc/PID/stat, and the boot'),
  steps: z.int().describe('steps of the main line'),
  ended: z.int().describe('of these, finished or left out'),
  running: z.array(RunningStep),
  reason: z.string().optional().describe('why the run ended before its end'),
});
export type RunStatus = z.infer<typeof RunStatus>;

/**
 * Follows one run; each event gives its status after it, or undefined before the run began.
 *
 * @param mainLine ids of the steps that count; those beside and behind the main line do not
 */
export function runStatusOf(
  mainLine: ReadonlySet<string>,
): (event: RunEvent) => RunStatus | undefined {
  let status: RunStatus | undefined;
  let failed: string | undefined;
  const ended = new Set<string>();
  return (event) => {
    if (event.type === 'run.started') {
      const { run, role, version, isResumed, steps, at } = event;
      status = { v: 1, run, role, version, isResumed, steps, ...begun(at) };
      return status;
    }
    if (status === undefined) return undefined;
    if (event.type === 'step.failed') failed ??= event.step;
    if (isEnd(event) && mainLine.has(event.step)) ended.add(event.step);
    status = {
      ...status,
      ...endOf(event, failed),
      updated: event.at,
      ended: ended.size,
      running: runningAfter(status.running, event),
    };
    return status;
  };
}

const begun = (
  at: number,
): Pick<RunStatus, 'state' | 'since' | 'updated' | 'ended' | 'running'> => ({
  state: 'running',
  since: at,
  updated: at,
  ended: 0,
  running: [],
});

const ends = ['step.finished', 'step.reused', 'step.skipped'] as const;

type StepEndEvent = Extract<RunEvent, { readonly type: (typeof ends)[number] }>;

const isEnd = (event: RunEvent): event is StepEndEvent =>
  (ends as readonly string[]).includes(event.type);

function endOf(
  event: RunEvent,
  failed: string | undefined,
): Pick<RunStatus, 'state' | 'reason'> | undefined {
  if (event.type === 'run.finished') return { state: event.outcome };
  if (event.type === 'run.stopped') return { state: 'stopped', reason: event.reason };
  if (event.type !== 'run.failed') return undefined;
  const { code, message, hint } = event.failure;
  const where = failed === undefined ? '' : `${failed}: `;
  return { state: 'failed', reason: `${where}${code}: ${message}; ${hint}` };
}

function runningAfter(running: readonly RunningStep[], event: RunEvent): RunningStep[] {
  switch (event.type) {
    case 'step.started': {
      const { step, title, lane, attempt, at } = event;
      const before = running.find((one) => one.step === step);
      const started = { step, title, attempt, since: before?.since ?? at };
      return [
        ...running.filter((one) => one.step !== step),
        { ...started, ...(lane === undefined ? {} : { lane }) },
      ];
    }
    case 'step.progress':
      return changed(running, event.step, ({ step, title, lane, attempt, since }) => ({
        step,
        title,
        attempt,
        since,
        ...event.progress,
        ...(lane === undefined ? {} : { lane }),
      }));
    case 'wait.updated': {
      const { sentence, status, waited, limit, at } = event;
      const wait = { sentence, status, since: at - waited, limit };
      return changed(running, event.step, (step) => ({ ...step, wait }));
    }
    case 'wait.finished':
      return changed(running, event.step, withoutWait);
    case 'step.finished':
    case 'step.failed':
    case 'step.stopped':
      return running.filter(({ step }) => step !== event.step);
    case 'run.finished':
      return [];
    default:
      return [...running];
  }
}

function withoutWait(step: RunningStep): RunningStep {
  const { wait, ...others } = step;
  return wait === undefined ? step : others;
}

const changed = (
  running: readonly RunningStep[],
  id: string,
  change: (step: RunningStep) => RunningStep,
): RunningStep[] => running.map((step) => (step.step === id ? change(step) : step));
