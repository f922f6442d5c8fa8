import { describe, expect, it } from 'vitest';
import { hostSeed } from '../inventory/seed.ts';
import { outcomeOf } from './report.ts';
import { guestSeat, hostReportOf } from './vm-host.ts';

const record = (isBootstrap: boolean) =>
  hostSeed({
    ...{ clusterId: 'cluster', infraEnvId: 'env', hostname: 'h1' },
    ...{ role: 'master', isBootstrap },
  });

describe('the seat of a virtual machine', () => {
  it.each([
    [true, 'bootstrap'],
    [false, 'master'],
  ])('of a host that bootstraps (%s) is that of a %s', (isBootstrap, role) => {
    expect(guestSeat(record(isBootstrap)).plan).toEqual({ name: 'h1', role });
  });
});

describe('the report of a virtual machine', () => {
  it('has its time in seconds, the longest step first, and counts writes', () => {
    const seat = guestSeat(record(false));
    const steps = [
      { step: 'disk/resolve', seconds: 1.004 },
      { step: 'image/write', seconds: 40.126 },
    ];
    Object.assign(seat, { outcome: 'done', boots: 1, agentStarts: 1, endedAt: 62_500 });
    seat.progress = { ...seat.progress, steps };
    expect(hostReportOf(seat, { startedAt: 1000, stage: 'Done' })).toMatchObject({
      ...{ outcome: 'done', stage: 'Done', boots: 1, seconds: 61.5, writes: 1 },
      steps: [
        { step: 'image/write', seconds: 40.13 },
        { step: 'disk/resolve', seconds: 1 },
      ],
    });
  });

  it.each([undefined, 'release/labcoreos:1.0.0'])('names the system %s if it is told', (system) => {
    const report = hostReportOf(guestSeat(record(false)), { startedAt: 0, stage: '', system });
    expect(report.system).toBe(system);
  });

  it('of one that has not come to its end makes the run unfinished', () => {
    const report = hostReportOf(guestSeat(record(false)), { startedAt: 0, stage: undefined });
    expect([report.outcome, report.stage, outcomeOf([report])]).toEqual([
      'unfinished',
      '',
      'unfinished',
    ]);
  });
});
