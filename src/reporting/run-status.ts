import * as z from 'zod';
import type { RunEvent } from '../engine/events.ts';
import { renderFailure } from '../engine/failures.ts';
import { isEnd, type RunSteps, stepsAfter } from '../engine/run-steps.ts';

/** Milliseconds since 1970. */
const instant = z.number();
/** A duration in milliseconds. */
const span = z.number();

/** A wait of a running step. */
const Wait = z.object({
  sentence: z.string(),
  /** The missing condition. */
  status: z.string(),
  /** Number of attempts of a request that is retried. */
  attempt: z.int().optional(),
  since: instant,
  /** Counted from `since`; then the step fails. */
  limit: span,
});

/** A running step. */
const RunningStep = z.object({
  step: z.string(),
  title: z.string(),
  lane: z.string().optional(),
  since: instant,
  attempt: z.int(),
  info: z.string().optional(),
  /** 0 to 100; never falls. */
  percent: z.number().optional(),
  bytesPerSecond: z.number().optional(),
  /** Time to the end of the step at the present rate. */
  remaining: span.optional(),
  wait: Wait.optional(),
});
export type RunningStep = z.infer<typeof RunningStep>;

/**
 * Status of a run. A field is never removed within one version; unknown fields of a newer agent are
 * ignored.
 */
export const RunStatus = z.object({
  /** Version of this form. */
  v: z.literal(1),
  run: z.string(),
  role: z.string(),
  version: z.string(),
  state: z.enum(['running', 'finished', 'left the host', 'failed', 'stopped']),
  since: instant,
  updated: instant,
  isResumed: z.boolean(),
  /** The process of the run: pid, field 22 of /proc/PID/stat, and the boot. */
  process: z.object({ pid: z.int(), startTicks: z.number(), bootId: z.string() }).optional(),
  /** The cluster at the inventory service that the run reports to. */
  cluster: z.string().optional(),
  /** Number of steps of the main line with this configuration; of these, number that ended. */
  steps: z.int(),
  ended: z.int(),
  running: z.array(RunningStep),
  /** The reason why the run ended before its end. */
  reason: z.string().optional(),
  /** The code of its failure. */
  code: z.string().optional(),
});
export type RunStatus = z.infer<typeof RunStatus>;

/**
 * Follows one run. Each event gives the status after it, or undefined before the run begins.
 *
 * @param mainLine ids of the counted steps; steps of `follow` and `always` do not count
 */
export function runStatusOf(
  mainLine: ReadonlySet<string>,
): (event: RunEvent) => RunStatus | undefined {
  let status: RunStatus | undefined;
  let steps: RunSteps = {};
  let failed: string | undefined;
  const ended = new Set<string>();
  return (event) => {
    steps = stepsAfter(steps, event);
    if (event.type === 'run.started') {
      const { run, role, version, isResumed, steps: count, at } = event;
      const times = { since: at, updated: at };
      const known = { v: 1, run, role, version, isResumed, steps: count } as const;
      status = { ...known, ...times, state: 'running', ended: 0, running: [] };
      return status;
    }
    if (status === undefined) return undefined;
    if (event.type === 'step.failed') failed ??= event.step;
    if (isEnd(event) && mainLine.has(event.step)) ended.add(event.step);
    status = {
      ...status,
      ...runEnd(event, failed),
      updated: event.at,
      ended: ended.size,
      // The schema drops fields that the status does not show.
      running: Object.values(steps)
        .filter(({ state }) => state === 'running')
        .map((step) => RunningStep.parse(step)),
    };
    return status;
  };
}

function runEnd(
  event: RunEvent,
  failed: string | undefined,
): Pick<RunStatus, 'state' | 'reason' | 'code'> | undefined {
  if (event.type === 'run.finished') return { state: event.outcome };
  if (event.type === 'run.stopped') return { state: 'stopped', reason: event.reason };
  if (event.type !== 'run.failed') return undefined;
  const where = failed === undefined ? '' : `${failed}: `;
  const { code, hint } = event.failure;
  return { state: 'failed', reason: `${where}${renderFailure(event.failure)}; ${hint}`, code };
}
