import { describe, expect, it } from 'vitest';
import { hours, minutes } from '../../model/duration.ts';
import type { LadderName, Stage } from '../../model/stage.ts';
import type { HostProgress } from '../api.ts';
import { decideProgress, deriveChecks, shownProgress } from './status.ts';

const now = Date.UTC(2026, 10, 27);
const at = (time: number): string => new Date(time).toISOString();
const progress = (stage: Stage, more: Partial<HostProgress> = {}): HostProgress => ({
  stage,
  attempt: 1,
  stageStartedAt: at(now - 5000),
  updatedAt: at(now - 5000),
  ...more,
});
const context = { ladder: 'master' as LadderName, isOwn: true, now };

it.each<[string, HostProgress | undefined, [Stage, string], unknown, Partial<typeof context>?]>([
  [
    'records the first report',
    undefined,
    ['Installing', 'master'],
    { stage: 'Installing', message: 'master', attempt: 1 },
  ],
  [
    'records a later stage',
    progress('Installing'),
    ['Rebooting', ''],
    { stage: 'Rebooting', stageStartedAt: at(now) },
  ],
  [
    'records a percentage',
    progress('Writing image to disk'),
    ['Writing image to disk', '7%'],
    { percent: 7, stageStartedAt: at(now - 5000) },
  ],
  [
    'records 101% as a message, not as a percentage',
    progress('Writing image to disk'),
    ['Writing image to disk', '101%'],
    { message: '101%' },
  ],
  ['ignores a repeated stage', progress('Rebooting'), ['Rebooting', ''], 'unchanged'],
  ['refuses an earlier stage', progress('Rebooting'), ['Installing', ''], 'refused'],
  [
    'starts a new attempt with the first stage',
    progress('Rebooting'),
    ['Starting installation', ''],
    { attempt: 2, stage: 'Starting installation' },
  ],
  [
    'refuses a new attempt that another host reports',
    progress('Rebooting'),
    ['Starting installation', ''],
    'refused',
    { isOwn: false },
  ],
  ['refuses a stage of another role', undefined, ['Waiting for bootkube', ''], 'refused'],
  [
    'records a stage of the bootstrap host',
    undefined,
    ['Waiting for bootkube', ''],
    { stage: 'Waiting for bootkube' },
    { ladder: 'bootstrap' },
  ],
  ['refuses a stage after Done', progress('Done'), ['Rebooting', ''], 'refused'],
  ['ignores a repeated Done', progress('Done'), ['Done', ''], 'unchanged'],
  [
    'records a failure with its stage',
    progress('Installing', { attempt: 3 }),
    ['Failed', 'x.y: z'],
    { stage: 'Failed', message: 'Installing: x.y: z', attempt: 3 },
  ],
  [
    'records a failure before the first stage',
    undefined,
    ['Failed', 'the agent did not start: x'],
    { message: 'the agent did not start: x' },
  ],
  [
    'keeps the stage of the first failure when a second one follows',
    progress('Failed', { message: 'Installing: a' }),
    ['Failed', 'b'],
    { message: 'Installing: b' },
  ],
  [
    'starts a new attempt with a stage after a failure',
    progress('Failed', { message: 'Installing: a' }),
    ['Writing image to disk', ''],
    { attempt: 2 },
  ],
  [
    'refuses a stage after a failure that another host reports',
    progress('Failed'),
    ['Joined', ''],
    'refused',
    { isOwn: false },
  ],
  [
    'strips control characters and truncates a long message',
    undefined,
    ['Installing', `a\u001b[31m\u0000${'b'.repeat(5000)}`],
    { message: expect.stringMatching(/^a b{1021}…$/) as string },
  ],
])('decideProgress %s', (...[, before, [stage, info], expected, more]) => {
  const decision = decideProgress(before, { stage, info }, { ...context, ...more });
  if (expected === 'unchanged') expect(decision).toEqual({});
  else if (expected === 'refused') expect(Object.keys(decision)).toEqual(['refusal']);
  else expect(decision).toMatchObject({ progress: expected });
});

describe('conditions', () => {
  const made = { dataSecretCreated: true };
  const reasons = (status: Parameters<typeof deriveChecks>[0], later = 0) =>
    Object.entries(deriveChecks(status, now + later)).map(
      ([type, { status: is, reason }]) => `${type}=${is} ${reason}`,
    );

  it.each([
    [undefined, hours(99), 'False NotYet', 'False WaitingForAgent'],
    [
      progress('Copying registry data to disk'),
      0,
      'True Reporting',
      'False CopyingRegistryDataToDisk',
    ],
    [progress('Waiting for bootkube'), minutes(61), 'False Lost', 'False AgentLost'],
    [progress('Rebooting'), minutes(39), 'True Rebooted', 'False Rebooting'],
    [progress('Rebooting'), minutes(41), 'False Lost', 'False AgentLost'],
    [progress('Done'), hours(99), 'True Installed', 'True Installed'],
    [
      progress('Failed', { message: 'Installing: disk.busy: x — y' }),
      hours(99),
      'True Reporting',
      'False InstallationFailed',
    ],
    [
      progress('Failed', { message: 'Installing: layering.build-failed: x' }),
      0,
      'True Reporting',
      'False OSImageBuildFailed',
    ],
    [
      progress('Failed', { message: 'Installing: layering.other-image-served: x' }),
      0,
      'True Reporting',
      'False OSImageRolloutFailed',
    ],
    [
      progress('Failed', { message: 'Installing: os.no-space: x' }),
      0,
      'True Reporting',
      'False OSImageRolloutFailed',
    ],
  ])('for %j after %d ms', (...[host, later, reporting, ready]) => {
    const status = { initialization: made, ...(host !== undefined && { progress: host }) };
    expect(reasons(status, later)).toEqual([
      'DataSecretAvailable=True Available',
      `AgentReporting=${reporting}`,
      `Ready=${ready}`,
    ]);
  });

  it('name the stage, and the attempt from the second one on', () => {
    expect(shownProgress(progress('Writing image to disk', { percent: 61 }))).toBe(
      'Writing image to disk 61%',
    );
    expect(shownProgress(progress('Installing', { attempt: 2, message: 'master' }))).toBe(
      'Installing (attempt 2): master',
    );
    const failed = progress('Failed', { attempt: 3, message: 'Installing: disk.busy: x' });
    expect(shownProgress(failed)).toBe('Installing (attempt 3): disk.busy: x');
  });
});
