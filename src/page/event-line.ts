import type { RunEvent } from '../engine/events.ts';
import { renderFailure } from '../engine/failures.ts';
import { waitText } from '../engine/run-steps.ts';
import { renderDuration } from '../model/duration.ts';
import type { PageLine } from './state.ts';

/** A line in the page's log for an event of an agent. */
type EventLine = Pick<PageLine, 'level' | 'text'>;

/**
 * The line of an event; undefined if the page shows the event elsewhere, as with progress.
 * @param lastWait the last missing condition, so that it is not repeated
 */
export function eventLine(event: RunEvent, lastWait?: string): EventLine | undefined {
  switch (event.type) {
    case 'run.started':
      return info(`${event.isResumed ? 'resumes' : 'starts'} role ${event.role}`);
    case 'run.finished':
      return info(`${event.outcome} after ${renderDuration(event.duration)}`);
    case 'run.failed': {
      const { failure } = event;
      return { level: 'error', text: `${renderFailure(failure)}; ${failure.hint}` };
    }
    case 'run.stopped':
      return warn(`stopped: ${event.reason}`);
    case 'step.started':
      return info(event.attempt > 1 ? `${event.title} (attempt ${event.attempt})` : event.title);
    case 'step.finished':
      return debug(`${event.step} took ${renderDuration(event.duration)}`);
    case 'step.reused':
      return info(`${event.title}: done by an earlier run`);
    default:
      return otherLine(event, lastWait);
  }
}

const info = (text: string): EventLine => ({ level: 'info', text });
const warn = (text: string): EventLine => ({ level: 'warn', text });
const debug = (text: string): EventLine => ({ level: 'debug', text });

function otherLine(event: RunEvent, lastWait?: string): EventLine | undefined {
  switch (event.type) {
    case 'step.retrying':
      return warn(`${event.step} is tried again: ${event.failure.message}`);
    case 'step.failed':
      return warn(`${event.step} failed: ${event.failure.message}`);
    case 'note': {
      const { level, message, fields } = event;
      const known = Object.entries(fields).map(([name, value]) => `${name} ${String(value)}`);
      return { level, text: known.length === 0 ? message : `${message} (${known.join(', ')})` };
    }
    case 'wait.updated':
      return event.status === lastWait ? undefined : info(waitText(event));
    case 'wait.finished': {
      const word = event.isReached ? 'reached' : 'not reached';
      return info(`${word} after ${renderDuration(event.waited)}: ${event.sentence}`);
    }
    case 'command.started':
      return debug(`$ ${event.argv.join(' ')}`);
    case 'command.finished': {
      const { exitCode, argv } = event;
      return exitCode === 0
        ? undefined
        : debug(
            `${exitCode === undefined ? 'stopped by a signal' : `exit code ${exitCode}`}: ${argv.join(' ')}`,
          );
    }
    case 'report.dropped':
      return warn(`stage ${event.stage} was not reported: ${event.failure.message}`);
    default:
      return undefined;
  }
}
