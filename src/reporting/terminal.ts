import type { RunEvent } from '../engine/events.ts';
import { plainLine } from '../lib/plain-text.ts';
import { renderDuration } from '../model/duration.ts';
import { renderWait, type RunSteps, type StepState, stepsAfter } from '../engine/run-steps.ts';

/** Follows a run and renders the step of the last event as one line for a terminal. */
export function terminalLineOf(): (event: RunEvent) => string | undefined {
  let steps: RunSteps = {};
  let shown: string | undefined;
  return (event) => {
    steps = stepsAfter(steps, event);
    const step = 'step' in event ? steps[event.step] : undefined;
    if (step?.state !== 'running') return undefined;
    if (event.type === 'wait.finished' && shown !== step.step) return undefined;
    shown = step.step;
    const detail = event.type === 'wait.finished' ? '' : detailOf(step, event.at);
    return detail === '' ? step.title : `${step.title}  ${plainLine(detail)}`;
  };
}

function detailOf(step: StepState, now: number): string {
  const { wait, attempt, info } = step;
  if (wait !== undefined) return renderWait(wait, now - wait.since);
  if (info !== undefined) return renderProgress(step);
  return attempt > 1 ? `attempt ${attempt}` : '';
}

/** Width of the bar in characters. */
const barWidth = 24;

function renderProgress({ info = '', percent, bytesPerSecond, remaining }: StepState): string {
  if (percent === undefined) return info;
  const filled = Math.round((barWidth * percent) / 100);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`;
  const parts = [`${bar} ${String(percent).padStart(3)}%`];
  if (bytesPerSecond !== undefined) parts.push(`${(bytesPerSecond / 1e6).toFixed(1)} MB/s`);
  if (remaining !== undefined && percent < 100) parts.push(`${renderDuration(remaining)} left`);
  return parts.join('  ');
}

/** The stream of a terminal. */
interface TerminalStream {
  readonly columns?: number;
  readonly write: (text: string) => unknown;
}

/** A terminal with permanent lines, and below them one line with the present state. */
interface Terminal {
  readonly line: (text: string) => void;
  readonly status: (text: string) => void;
  /** Removes the state line. */
  readonly close: () => void;
}

const clearLine = '\r\u001b[K';

/** Opens a terminal. */
export function openTerminal(stream: TerminalStream): Terminal {
  let shown = '';
  const draw = (): void => {
    // Some terminals report 0 if they do not know their width.
    const columns = stream.columns === undefined || stream.columns === 0 ? 80 : stream.columns;
    if (shown !== '') stream.write(shown.slice(0, columns - 1));
  };
  return {
    line: (text) => {
      stream.write(`${clearLine}${text}\n`);
      draw();
    },
    status: (text) => {
      shown = text;
      stream.write(clearLine);
      draw();
    },
    close: () => {
      shown = '';
      stream.write(clearLine);
    },
  };
}
