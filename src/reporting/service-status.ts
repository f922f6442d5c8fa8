import type { RunEvent } from '../engine/events.ts';
import { plainLine } from '../lib/plain-text.ts';
import { minutes, renderDuration } from '../model/duration.ts';
import { type RunningStep, type RunStatus, runStatusOf } from './run-status.ts';

/**
 * What may pass between the end of a run and that of its process: the logs of a failure are
 * uploaded, then the last report is waited for, then a bundle is left. Each has a limit of its own;
 * this is more than all of them.
 */
const afterFailure = minutes(20);

/** Characters of a status; `systemctl status` shows it in one line. */
const longestStatus = 200;

/**
 * Follows a run and gives what its service manager is to know after an event (sd_notify(3));
 * undefined for nothing.
 */
export function serviceStatusOf(): (
  event: RunEvent,
) => Readonly<Record<string, string>> | undefined {
  const follow = runStatusOf(new Set());
  return (event) => {
    const status = follow(event);
    if (status === undefined) return undefined;
    const line = { STATUS: statusLine(status) };
    switch (event.type) {
      case 'run.started':
        return { READY: '1', ...line };
      case 'run.finished':
      case 'run.stopped':
        return { STOPPING: '1', ...line };
      case 'run.failed':
        return { STOPPING: '1', EXTEND_TIMEOUT_USEC: String(afterFailure * 1000), ...line };
      default:
        return line;
    }
  };
}

/**
 * A run in one line: what ended it, or each step that runs with how far it is and what it waits
 * for.
 */
function statusLine({ role, state, reason, running }: RunStatus): string {
  const ending = reason === undefined ? state : `${state}: ${reason}`;
  const line =
    state === 'running' && running.length > 0 ? running.map(stepText).join('; ') : ending;
  return plainLine(`${role}: ${line}`, longestStatus);
}

function stepText({ title, attempt, info, percent, remaining, wait }: RunningStep): string {
  if (wait !== undefined) return `waits until ${wait.sentence}: ${wait.status}`;
  return [
    title,
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(percent === undefined ? [] : [`${percent}%`]),
    ...(info === undefined || info === `${percent}%` ? [] : [info]),
    ...(remaining === undefined ? [] : [`${renderDuration(remaining)} left`]),
  ].join(', ');
}
