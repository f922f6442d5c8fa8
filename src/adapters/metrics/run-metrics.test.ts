import { describe, expect, it } from 'vitest';
import type { FailureReport, RunEventBody } from '../../engine/events.ts';
import { runMetrics } from './serve.ts';

const step = 'image/write';
const failure: FailureReport = {
  code: 'image.disk-error',
  kind: 'media',
  message: 'secret-looking text',
  hint: 'h',
  context: {},
};

const started: RunEventBody = {
  type: 'run.started',
  role: 'master',
  version: '1.0.0',
  isResumed: false,
  steps: 12,
};
const begins: RunEventBody = { type: 'step.started', step, title: 'Write', attempt: 1 };
const progress = (percent: number): RunEventBody => ({
  type: 'step.progress',
  step,
  progress: { info: `${percent}%`, percent, bytesPerSecond: 5e6, remaining: 9000 },
});
const waits: RunEventBody = {
  type: 'wait.updated',
  step,
  sentence: 'w',
  status: 's',
  waited: 4000,
  limit: 60_000,
};

/** The samples of ours after some events, a tenth of a second apart, the last 10 s ago. */
async function samplesAfter(...events: readonly RunEventBody[]): Promise<readonly string[]> {
  const { sink, text } = runMetrics(() => events.length * 100 + 9900);
  events.forEach((event, index) => {
    sink({ ...event, at: index * 100, run: 'r' });
  });
  return (await text()).split('\n').filter((line) => line.startsWith('bootwright_'));
}

describe('the metrics of a run', () => {
  it.each<[string, readonly RunEventBody[], readonly string[]]>([
    [
      'what runs',
      [started, begins, progress(42)],
      [
        'bootwright_run_info{role="master",version="1.0.0",resumed="false"} 1',
        'bootwright_run_result{result="running"} 1',
        'bootwright_run_result{result="left_the_host"} 0',
        'bootwright_run_steps 12',
        'bootwright_step_running{step="image/write"} 1',
        'bootwright_step_progress_ratio{step="image/write"} 0.42',
        'bootwright_step_bytes_per_second{step="image/write"} 5000000',
        'bootwright_step_remaining_seconds{step="image/write"} 9',
      ],
    ],
    [
      'what is waited for, which grows between two events',
      [waits],
      [
        'bootwright_wait_seconds{step="image/write"} 14',
        'bootwright_wait_limit_seconds{step="image/write"} 60',
      ],
    ],
    [
      'what has ended',
      [started, begins, { type: 'step.finished', step, duration: 1500 }],
      [
        'bootwright_step_running{step="image/write"} 0',
        'bootwright_step_seconds{step="image/write"} 1.5',
      ],
    ],
    [
      'what failed, by its code',
      [started, { type: 'run.failed', failure, duration: 1 }],
      [
        'bootwright_run_failure_info{code="image.disk-error",kind="media"} 1',
        'bootwright_run_result{result="failed"} 1',
        'bootwright_run_result{result="running"} 0',
      ],
    ],
    [
      'commands by their program, and the last stage',
      [
        { type: 'command.finished', argv: ['/usr/bin/lsblk', '-J'], exitCode: 0, duration: 250 },
        { type: 'command.finished', argv: ['lsblk'], exitCode: 32, duration: 250 },
        { type: 'report.sent', stage: 'Starting installation', info: 'i' },
        { type: 'report.sent', stage: 'Installing', info: 'i' },
      ],
      [
        'bootwright_commands_total{program="lsblk",result="ok"} 1',
        'bootwright_commands_total{program="lsblk",result="failed"} 1',
        'bootwright_command_seconds_total{program="lsblk"} 0.5',
        'bootwright_stage_info{stage="Installing"} 1',
        'bootwright_reports_total{result="sent"} 2',
      ],
    ],
  ])('say %s', async (_, events, samples) => {
    const all = await samplesAfter(...events);
    for (const sample of samples) expect(all).toContain(sample);
  });

  it('say nothing of a step or a wait that has ended', async () => {
    const ended: RunEventBody = { type: 'step.failed', step, failure };
    const all = await samplesAfter(started, begins, progress(42), waits, ended);
    expect(all.filter((line) => /progress|per_second|remaining|wait_/.test(line))).toEqual([]);
  });

  it('hold no text of a failure', async () => {
    const all = await samplesAfter(started, { type: 'run.failed', failure, duration: 1 });
    expect(all.join('\n')).not.toContain('secret');
  });
});
