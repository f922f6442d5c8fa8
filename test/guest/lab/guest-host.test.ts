import { describe, expect, it } from 'vitest';
import { hostSeed } from '../../../mocks/inventory/records.ts';
import { outcomeOf } from '../../../mocks/lab/report.ts';
import { doubtsAbout, guestHost, hostReportOf, originIn, startsIn } from './guest-host.ts';

const record = (isBootstrap: boolean) =>
  hostSeed({
    clusterId: 'cluster',
    infraEnvId: 'env',
    hostname: 'h1',
    role: 'master',
    isBootstrap,
  });

describe('the host of a virtual machine', () => {
  it.each([
    [true, 'bootstrap'],
    [false, 'master'],
  ])('of a host that bootstraps (%s) is that of a %s', (isBootstrap, role) => {
    expect(guestHost(record(isBootstrap)).plan).toEqual({ name: 'h1', role });
    expect(guestHost(record(isBootstrap)).hardware).toBe(
      'virtual machine, 2.1 GB memory, 4.3 GB disk',
    );
  });
});

describe('the report of a virtual machine', () => {
  it('has its time in seconds, the longest step first, and counts writes', () => {
    const host = guestHost(record(false));
    for (const [step, duration] of [
      ['disk/resolve', 1004] as const,
      ['image/write', 40_126] as const,
    ])
      host.events.push({ type: 'step.finished', at: 0, run: 'r', step, duration });
    Object.assign(host, { outcome: 'done', boots: 1, agentStarts: 1, endedAt: 62_500 });
    expect(hostReportOf(host, { startedAt: 1000, stage: 'Done' })).toMatchObject({
      outcome: 'done',
      stage: 'Done',
      boots: 1,
      seconds: 61.5,
      writes: 1,
      steps: [
        { step: 'image/write', seconds: 40.13 },
        { step: 'disk/resolve', seconds: 1 },
      ],
    });
  });

  it.each([undefined, 'release/labcoreos:1.0.0'])('names the system %s if it is told', (system) => {
    const report = hostReportOf(guestHost(record(false)), { startedAt: 0, stage: '', system });
    expect(report.system).toBe(system);
  });

  it('of one that has not come to its end makes the run unfinished', () => {
    const report = hostReportOf(guestHost(record(false)), { startedAt: 0, stage: undefined });
    expect([report.outcome, report.stage, outcomeOf([report])]).toEqual([
      'unfinished',
      '',
      'unfinished',
    ]);
  });
});

const proof = 'IGNITION-APPLIED text';
const report = [
  proof,
  'LABCOREOS boots: 1',
  'LABCOREOS hostname: m1',
  'LABCOREOS cmdline: BOOT_IMAGE=/x ignition.firstboot ignition.platform.id=metal',
  '',
].join('\n');

describe('the report of a first start', () => {
  it('says how often the system has started', () => {
    expect(startsIn(report)).toBe(1);
  });

  it.each(['', 'LABCOREOS boots: 0\n', 'LABCOREOS boots: \n'])('says nothing in %j', (text) => {
    expect(startsIn(text)).toBeUndefined();
  });

  it.each([
    [
      'ostree-unverified-registry:10.0.2.2:5000/ocl/master@sha256:1',
      '10.0.2.2:5000/ocl/master@sha256:1',
    ],
    ['ostree-unverified-image:docker://release/labcoreos', 'docker://release/labcoreos'],
  ])('names the image of the origin %s', (origin, image) => {
    expect(originIn(`LABCOREOS origin: ${origin}\n`)).toBe(image);
    expect(originIn(report)).toBeUndefined();
  });

  it('leaves no doubt when all is well', () => {
    expect(doubtsAbout(report, { hostname: 'm1', proof })).toEqual([]);
  });

  it.each([
    [proof, 'its Ignition was not applied'],
    ['LABCOREOS hostname: m1', 'it calls itself nothing'],
    ['ignition.firstboot', 'it was not its first boot'],
  ])('without "%s" says: %s', (text, doubt) => {
    expect(doubtsAbout(report.replace(text, ''), { hostname: 'm1', proof })).toEqual([doubt]);
  });
});
