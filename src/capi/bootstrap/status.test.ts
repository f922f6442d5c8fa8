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

describe('a report', () => {
  it.each<[string, HostProgress | undefined, [Stage, string], Partial<typeof context>, unknown]>([
    [
      'is the first',
      undefined,
      ['Installing', 'master'],
      {},
      { stage: 'Installing', message: 'master', attempt: 1 },
    ],
    [
      'is of a later stage',
      progress('Installing'),
      ['Rebooting', ''],
      {},
      { stage: 'Rebooting', stageStartedAt: at(now) },
    ],
    [
      'has a percentage',
      progress('Writing image to disk'),
      ['Writing image to disk', '7%'],
      {},
      { percent: 7, stageStartedAt: at(now - 5000) },
    ],
    [
      'has no percentage of a hundred and one',
      progress('Writing image to disk'),
      ['Writing image to disk', '101%'],
      {},
      { message: '101%' },
    ],
    ['says the same', progress('Rebooting'), ['Rebooting', ''], {}, 'unchanged'],
    ['is of an earlier stage', progress('Rebooting'), ['Installing', ''], {}, 'refused'],
    [
      'begins again',
      progress('Rebooting'),
      ['Starting installation', ''],
      {},
      { attempt: 2, stage: 'Starting installation' },
    ],
    [
      'begins again, says another host',
      progress('Rebooting'),
      ['Starting installation', ''],
      { isOwn: false },
      'refused',
    ],
    ['is no stage of the role', undefined, ['Waiting for bootkube', ''], {}, 'refused'],
    [
      'is one of a bootstrap host',
      undefined,
      ['Waiting for bootkube', ''],
      { ladder: 'bootstrap' },
      { stage: 'Waiting for bootkube' },
    ],
    ['comes after the end', progress('Done'), ['Rebooting', ''], {}, 'refused'],
    ['is that of the end again', progress('Done'), ['Done', ''], {}, 'unchanged'],
    [
      'fails',
      progress('Installing', { attempt: 3 }),
      ['Failed', 'x.y: z'],
      {},
      { stage: 'Failed', message: 'Installing: x.y: z', attempt: 3 },
    ],
    [
      'fails before any stage',
      undefined,
      ['Failed', 'the agent did not start: x'],
      {},
      { message: 'the agent did not start: x' },
    ],
    [
      'fails again',
      progress('Failed', { message: 'Installing: a' }),
      ['Failed', 'b'],
      {},
      { message: 'Installing: b' },
    ],
    [
      'follows a failure',
      progress('Failed', { message: 'Installing: a' }),
      ['Writing image to disk', ''],
      {},
      { attempt: 2 },
    ],
    [
      'follows a failure, says another host',
      progress('Failed'),
      ['Joined', ''],
      { isOwn: false },
      'refused',
    ],
    [
      'has control characters, and no end',
      undefined,
      ['Installing', `a\u001b[31m\u0000${'b'.repeat(5000)}`],
      {},
      { message: expect.stringMatching(/^a b{1021}…$/) as string },
    ],
  ])('%s', (...[, before, [stage, info], more, expected]) => {
    const decision = decideProgress(before, { stage, info }, { ...context, ...more });
    if (expected === 'unchanged') expect(decision).toEqual({});
    else if (expected === 'refused') expect(Object.keys(decision)).toEqual(['refusal']);
    else expect(decision).toMatchObject({ progress: expected });
  });
});

describe('conditions', () => {
  const made = { dataSecretCreated: true };
  const reasons = (status: Parameters<typeof deriveChecks>[0], later = 0) =>
    Object.entries(deriveChecks(status, now + later)).map(
      ([type, { status: is, reason }]) => `${type}=${is} ${reason}`,
    );

  it.each<[HostProgress | undefined, number, string, string]>([
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
  ])('of %j after %d ms', (...[host, later, reporting, ready]) => {
    const status = { initialization: made, ...(host === undefined ? {} : { progress: host }) };
    expect(reasons(status, later)).toEqual([
      'DataSecretAvailable=True Available',
      `AgentReporting=${reporting}`,
      `Ready=${ready}`,
    ]);
  });

  it('name the stage, and from the second attempt on the attempt', () => {
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
