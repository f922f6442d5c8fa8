import type { RunEvent } from '../engine/events.ts';
import { renderFailure } from '../engine/failures.ts';
import { waitText } from '../engine/run-steps.ts';
import { renderDuration } from '../model/duration.ts';
import type { PageLine } from './state.ts';

/** A line in the page's log for an event of an agent; undefined for an event without news. */
type EventLine = Pick<PageLine, 'level' | 'text'> | undefined;

const info = (text: string): EventLine => ({ level: 'info', text });
const warn = (text: string): EventLine => ({ level: 'warn', text });
const debug = (text: string): EventLine => ({ level: 'debug', text });

type LineOf<Type> = (
  event: Extract<RunEvent, { readonly type: Type }>,
  lastWait: string | undefined,
) => EventLine;

const lines: { readonly [Type in RunEvent['type']]?: LineOf<Type> } = {
  'run.started': ({ isResumed, role }) => info(`${isResumed ? 'resumes' : 'starts'} role ${role}`),
  'run.finished': ({ outcome, duration }) => info(`${outcome} after ${renderDuration(duration)}`),
  'run.failed': ({ failure }) => ({
    level: 'error',
    text: `${renderFailure(failure)}; ${failure.hint}`,
  }),
  'run.stopped': ({ reason }) => warn(reason),
  'step.started': ({ title, attempt }) =>
    info(attempt > 1 ? `${title} (attempt ${attempt})` : title),
  'step.finished': ({ step, duration }) => debug(`${step} took ${renderDuration(duration)}`),
  'step.reused': ({ title }) => info(`${title}: done by an earlier run`),
  'step.retrying': ({ step, failure }) => warn(`${step} is tried again: ${failure.message}`),
  'step.failed': ({ step, failure }) => warn(`${step} failed: ${failure.message}`),
  note: ({ level, message, fields }) => {
    const known = Object.entries(fields).map(([name, value]) => `${name} ${String(value)}`);
    return { level, text: known.length === 0 ? message : `${message} (${known.join(', ')})` };
  },
  'wait.updated': (wait, lastWait) => (wait.status === lastWait ? undefined : info(waitText(wait))),
  'wait.finished': ({ isReached, waited, sentence }, lastWait) => {
    const end = `${isReached ? 'reached' : 'gave up'} after ${renderDuration(waited)}: ${sentence}`;
    return info(isReached || lastWait === undefined ? end : `${end}: ${lastWait}`);
  },
  'command.started': ({ argv }) => debug(`$ ${argv.join(' ')}`),
  'command.finished': ({ exitCode, argv }) => {
    const how = exitCode === undefined ? 'stopped by a signal' : `exit code ${exitCode}`;
    return exitCode === 0 ? undefined : debug(`${how}: ${argv.join(' ')}`);
  },
  'report.dropped': ({ stage, failure }) =>
    warn(`stage ${stage} was not reported: ${failure.message}`),
};

/**
 * The line of an event; undefined if the page shows the event elsewhere, as with progress.
 * @param lastWait the last missing condition, so that it is not repeated
 */
export const eventLine = (event: RunEvent, lastWait?: string): EventLine =>
  (lines[event.type] as LineOf<RunEvent['type']> | undefined)?.(event, lastWait);
