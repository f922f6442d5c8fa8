import type { RunEvent } from '../engine/events.ts';
import { plainLine } from '../lib/plain-text.ts';
import { type Millis, renderDuration } from '../model/duration.ts';

/** What the line at the bottom of a terminal shows. */
export interface TerminalLine {
  readonly title: string;
  readonly detail: string;
}

/** Follows a run and renders its present state as one line for a terminal. */
export function terminalLineOf(): (event: RunEvent) => string | undefined {
  let title = '';
  /** The step whose wait is shown. */
  let waiting: string | undefined;
  return (event) => {
    switch (event.type) {
      case 'step.started':
        title = event.title;
        waiting = undefined;
        return render({ title, detail: event.attempt > 1 ? `attempt ${event.attempt}` : '' });
      case 'step.progress':
        waiting = undefined;
        return render({ title, detail: renderProgress(event.progress) });
      case 'wait.updated':
        waiting = event.step;
        return render({
          title,
          detail: `${event.status}, waited ${renderDuration(event.waited)} of ${renderDuration(event.limit)}`,
        });
      case 'wait.finished':
        if (waiting !== event.step) return undefined;
        waiting = undefined;
        return render({ title, detail: '' });
      default:
        return undefined;
    }
  };
}

const render = ({ title, detail }: TerminalLine): string =>
  detail === '' ? title : `${title}  ${plainLine(detail)}`;

interface Measured {
  readonly info: string;
  readonly percent?: number;
  readonly bytesPerSecond?: number;
  readonly remaining?: Millis;
}

/** Width of the bar in characters. */
const barWidth = 24;

function renderProgress({ info, percent, bytesPerSecond, remaining }: Measured): string {
  if (percent === undefined) return info;
  const filled = Math.round((barWidth * percent) / 100);
  const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`;
  const parts = [`${bar} ${String(percent).padStart(3)}%`];
  if (bytesPerSecond !== undefined) parts.push(`${(bytesPerSecond / 1e6).toFixed(1)} MB/s`);
  if (remaining !== undefined && percent < 100) parts.push(`${renderDuration(remaining)} left`);
  return parts.join('  ');
}
