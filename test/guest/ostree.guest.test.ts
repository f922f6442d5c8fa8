import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { agentImageBase } from '../../scripts/parts/agent-image.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { imageRegistry } from '../../scripts/parts/image-registry.ts';
import { liveRoot } from '../../scripts/parts/live-root.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { osImage } from '../../scripts/parts/os-image.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { playExistingRoot } from './install/existing-root-play.ts';
import { serveFinalOs } from './install/final-os.ts';
import { proofLine } from './install/ignition.ts';
import { type OstreePlay, playSkipReboot } from './install/skip-reboot-play.ts';
import { prepareStage } from './install/stage.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

let folder: TestFolder;
let image: string;
let skipReboot: OstreePlay;
let existingRoot: OstreePlay;

beforeAll(async () => {
  await ensureParts([osDisk, liveRoot, agentImageBase, osImage, imageRegistry]);
  folder = createTestFolder('ostree');
  const stage = await prepareStage(folder.path);
  await using finalOs = await serveFinalOs(folder.path);
  ({ image } = finalOs);
  [skipReboot, existingRoot] = await Promise.all([
    playSkipReboot(stage, finalOs),
    playExistingRoot(stage, finalOs),
  ]);
}, 3_600_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

const linesOf = (report: string, fact: string): readonly string[] =>
  report
    .split('\n')
    .filter((line) => line.startsWith(`LABCOREOS ${fact}: `))
    .map((line) => line.slice(`LABCOREOS ${fact}: `.length));

/** What the agent had to try again or warned of. A command that the real ostree refused is among it. */
const troubleIn = (events: readonly RunEvent[]): readonly RunEvent[] =>
  events
    // The live system has no podman to collect logs with, which the agent warns of.
    .filter((event) => 'step' in event && event.step.startsWith('image/'))
    .filter(
      (event) =>
        ['step.retrying', 'step.failed'].includes(event.type) ||
        (event.type === 'wait.updated' && event.sentence.endsWith(' succeeds')) ||
        (event.type === 'note' && event.level === 'warn'),
    );

function expectLeft({ job }: OstreePlay): void {
  const events = job.runs[0]?.events ?? [];
  expect(troubleIn(events)).toEqual([]);
  const end = events.find(({ type }) => type === 'run.finished');
  expect(end).toMatchObject({ outcome: 'left the host' });
}

function expectFinalOs({ boot: { report } }: OstreePlay): void {
  expect(linesOf(report, 'origin')).toEqual([`ostree-unverified-registry:${image}`]);
  expect(linesOf(report, 'layers')).toEqual(['final']);
}

function expectFirstBoot({ boot: { report } }: OstreePlay, hostname: string): void {
  expect(report.split('\n')).toContain(proofLine);
  expect(linesOf(report, 'hostname')).toEqual([hostname]);
  expect(linesOf(report, 'boots')).toEqual(['1']);
  const [commandLine] = linesOf(report, 'cmdline');
  expect(commandLine?.split(' ')).toEqual(
    expect.arrayContaining(['ignition.firstboot', 'ignition.platform.id=metal']),
  );
  expect(linesOf(report, 'boot')[0]).not.toContain('ignition');
}

describe('the final operating system before the first boot', () => {
  it('the agent leaves the host without a warning', () => {
    expectLeft(skipReboot);
  });

  it('the disk boots once, into the system that the cluster wants and not that of the image', () => {
    expectFinalOs(skipReboot);
    expectFirstBoot(skipReboot, 'skip-0');
  });

  it('has the kernel arguments of the MachineConfig and of the host', () => {
    const [commandLine] = linesOf(skipReboot.boot.report, 'cmdline');
    expect(commandLine?.split(' ')).toEqual(
      expect.arrayContaining(['lab.final=yes', 'lab.installed=yes']),
    );
  });

  it('the Machine Config Server was asked by the agent and by Ignition', () => {
    expect(skipReboot.boot.asked).toEqual(['/config/master', '/config/master']);
  });
});

describe('an install into the running root', () => {
  it('the agent leaves the host without a warning', () => {
    expectLeft(existingRoot);
    expect(existingRoot.reports).toContain('Writing image to disk: ');
  });

  it('the new system has its first boot, in a stateroot of its own', () => {
    expectFinalOs(existingRoot);
    expectFirstBoot(existingRoot, 'existing-0');
    const [commandLine] = linesOf(existingRoot.boot.report, 'cmdline');
    expect(commandLine).toMatch(/ ostree=\/ostree\/boot\.[01]\/install\//);
    expect(existingRoot.boot.asked).toEqual(['/config/master']);
  });

  it('the system that ran before is still there to be booted', () => {
    const before = linesOf(existingRoot.boot.report, 'entry ostree-1.conf');
    expect(before[0]).toMatch(/ ostree=\/ostree\/boot\.[01]\/rhcos\//);
  });
});
