import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentBase } from '../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { imageRegistry, liveRoot, osImage, qemu } from '../../scripts/parts/scripted.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import { type LabRun, runLab } from '../lab/run-lab.ts';
import {
  type ConfigDriveInstall,
  installFromConfigDrive,
  metadataUuid,
} from './install/config-drive.ts';
import type { DiskBoot } from './install/first-boot.ts';
import { proofLine } from './install/ignition.ts';
import { type LayeredImages, serveLayeredImages } from './install/layered-images.ts';
import { readNode, statusIn } from './install/node-commands.ts';
import { installWithPowerCut, type PowerCutInstall } from './install/power-cut.ts';
import { linesOf, errorsIn } from './install/report-lines.ts';
import { prepareGuests } from './install/prepare.ts';
import { installByUefi, type UefiInstall } from './install/uefi-install.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

const exitOfWrongInput = 6;

let folder: TestFolder;
let images: LayeredImages;
let powerCut: PowerCutInstall;
let uefi: UefiInstall;
let configDrive: ConfigDriveInstall;
let lab: LabRun;

beforeAll(async () => {
  await ensureParts([osDisk, qemu, liveRoot, agentBase(), osImage, imageRegistry]);
  folder = createTestFolder('install');
  const stage = await prepareGuests(folder.path);
  const built = serveLayeredImages(folder.path);
  const over = new AbortController();
  try {
    // A guest has one processor, and two guests at once keep two processors busy.
    await Promise.all([
      (async () => {
        images = await built;
        uefi = await installByUefi(stage, images);
      })(),
      (async () => {
        powerCut = await installWithPowerCut(stage, built);
        configDrive = await installFromConfigDrive(stage, await built);
        const words = `--os-config test/guest/lab/os-config.yaml --page-file ${pageFile()}`;
        lab = await runLab(`scripts/lab --vm ${words}`, over.signal);
      })(),
    ]);
  } finally {
    over.abort(new Error('the installs are over'));
    await (await built)[Symbol.asyncDispose]();
  }
});

afterAll(() => {
  folder[Symbol.dispose]();
});

const pageFile = (): string => join(folder.path, 'run.html');

/** The stages in their order, without the texts and the repetitions. */
const stagesOf = (reports: readonly string[]): readonly string[] =>
  reports
    .map((report) => report.split(':')[0] ?? '')
    .filter((stage, index, all) => stage !== all[index - 1]);

const finishedAt = (events: readonly RunEvent[] = [], step: string): number =>
  events.find((event) => event.type === 'step.finished' && event.step === step)?.at ?? Number.NaN;

/** The time from the end of the writes to the ordered reboot. */
const secondsAtEnd = (events: readonly RunEvent[] | undefined): number =>
  (finishedAt(events, 'finish/leave-host') - finishedAt(events, 'layering/overwrite-os')) / 1000;

/** The output of a hook in a run, line by line. */
const printedBy = (
  hook: string,
  run?: { readonly events: readonly RunEvent[] },
): readonly string[] =>
  (run?.events ?? []).flatMap((event) =>
    event.type === 'note' && event.fields['hook'] === hook ? [event.message.trim()] : [],
  );

function expectFirstBoot({ report }: DiskBoot, hostname: string): void {
  expect(report.split('\n')).toContain(proofLine);
  expect(linesOf(report, 'hostname')).toEqual([hostname]);
  expect(linesOf(report, 'boots')).toEqual(['1']);
  expect(argumentsOf(report)).toEqual(
    expect.arrayContaining(['ignition.firstboot', 'ignition.platform.id=metal']),
  );
  expect(linesOf(report, 'boot')[0]).not.toContain('ignition');
}

const argumentsOf = (report: string): readonly string[] =>
  linesOf(report, 'cmdline').flatMap((line) => line.split(' '));

function expectSystem({ report }: DiskBoot, image: string, layer: string): void {
  expect(linesOf(report, 'origin')).toEqual([`ostree-unverified-registry:${image}`]);
  expect(linesOf(report, 'layers')).toEqual([layer]);
}

/** New layers, with the manifests and configs that are pulled besides. */
function expectPulled(bytes: number | undefined, newBytes: number): void {
  expect(bytes).toBeGreaterThan(newBytes * 0.99);
  expect(bytes).toBeLessThan(newBytes * 1.05);
}

describe('an agent in a live guest', () => {
  it('has its own root, with the given directories and variables of the host', () => {
    expect(uefi.job.before).toContain('IN-AGENT secret=kept own=root\nfrom-agent\n');
  });

  it('reaches PID 1 of the host by nsenter', () => {
    expect(uefi.job.before).toContain('PID1 /usr/lib/systemd/systemd active\n');
  });

  it('passes its exit code on', () => {
    expect(uefi.job.before).toContain('AGENT-RC=7\n');
  });
});

describe('by UEFI, with the image on a disk and another operating system in the cluster', () => {
  const installed = () => uefi.job.runs[1];

  it('an agent with a wrong digest of the Ignition writes nothing', () => {
    const [run] = uefi.job.runs;
    expect(run?.output).toMatch(
      /(?:^|\n)failed: ignition\.wrong-digest: .*\nwhy: .*\nnext: .*\nlogs: .*\n$/,
    );
    expect(run).toMatchObject({ exitCode: exitOfWrongInput, sectorsWritten: 0 });
    expect(stagesOf(uefi.reportsOfWrongDigest)).toEqual([
      'Starting installation',
      'Installing',
      'Failed',
    ]);
  });

  it('the agent installs, schedules the reboot and ends with 0', () => {
    expect(installed()).toMatchObject({ exitCode: 0 });
    expect(uefi.job.shutdown).toMatch(/^MODE=reboot$/m);
  });

  it('the boot partition has the keyfiles of the installed host, readable by root only', () => {
    expect(uefi.keyfiles).toMatch(/\/100600\/0\/0\/eth0\.nmconnection\//);
  });

  it('the kept partition has its content and its own number', () => {
    expect(uefi.job.before).toContain(`KEPT ${uefi.keptDigest} `);
    const { partitiontable } = JSON.parse(uefi.table) as {
      partitiontable: { partitions: { node: string; name: string }[] };
    };
    const names = partitiontable.partitions.map(({ node, name }) => [node.slice(-1), name]);
    expect(Object.fromEntries(names)).toMatchObject({ 3: 'boot', 4: 'root', 5: 'data' });
  });

  it('the hooks run before the first loss and before the reboot, with the variables of the installation', () => {
    const [refused] = uefi.job.runs;
    const [before, after] = [printedBy('before', installed()), printedBy('after', installed())];
    for (const [hook, printed] of Object.entries({ before, after })) {
      expect(printed).toEqual(
        expect.arrayContaining([
          ...[`INSTALL_HOOK=${hook}`, 'INSTALL_ROLE=master', 'data'],
          'INSTALL_IMAGE=/run/images/labcoreos.raw.zst',
          expect.stringMatching(/^INSTALL_DISK=\/dev\/vd[a-z]$/),
          expect.stringMatching(/^INSTALL_HOST_ID=[0-9a-f-]{36}$/),
        ]),
      );
      expect(printedBy(hook, refused)).toEqual([]);
    }
    expect(before).not.toContain('root');
    expect(after).toEqual(expect.arrayContaining(['boot', 'root']));
  });

  it('the service got the stages in order, and the write in percent', () => {
    expect(stagesOf(uefi.reports)).toEqual([
      'Starting installation',
      'Installing',
      'Writing image to disk',
      'Rebooting',
    ]);
    expect(uefi.reports).toContain('Starting installation: master');
    expect(uefi.reports).toContain('Writing image to disk: 100%');
  });

  it('the journal of the host contains the log', () => {
    expect(uefi.job.journal).toContain('image/write: step finished');
    expect(uefi.job.journal).toContain('ignition.wrong-digest');
  });

  it('no token is in the log, the journal, the events or the output', () => {
    expect(uefi.tokens.filter((token) => uefi.said.includes(token))).toEqual([]);
  });

  it('the firmware has the boot entry in first place', () => {
    const { firmware } = uefi.job;
    const own = /^Boot(\d{4})\* Red Hat Enterprise Linux\t/m.exec(firmware)?.[1] ?? 'none';
    expect(firmware).toMatch(new RegExp(`^BootOrder: ${own}\\b`, 'm'));
  });

  it('the firmware boots the disk by that entry, and Ignition applies the served config', () => {
    expect(uefi.boot.console).toMatch(
      /BdsDxe: starting Boot\d{4} "Red Hat Enterprise Linux" from HD\(2,GPT,.*\\EFI\\redhat\\shimx64\.efi/,
    );
    expect(linesOf(uefi.boot.report, 'firmware')).toEqual(['uefi']);
    expectFirstBoot(uefi.boot, 'uefi-0');
  });

  it('the disk boots once, into the operating system of the cluster', () => {
    expect(errorsIn(installed()?.events ?? [])).toEqual([]);
    expectSystem(uefi.boot, images.final.image, 'final');
  });

  it('the host pulled only the new layers', () => {
    expectPulled(uefi.pulled[0], images.final.newBytes);
  });

  it('the host has the kernel arguments of the MachineConfig and of the settings', () => {
    expect(argumentsOf(uefi.boot.report)).toEqual(
      expect.arrayContaining(['lab.final=yes', 'lab.installed=yes']),
    );
  });

  it('the agent and Ignition requested the config of the Machine Config Server', () => {
    expect(uefi.back.asked).toEqual(['/config/master', '/config/master']);
  });
});

describe('by BIOS, with the image from a mirror, onto a disk with leftovers', () => {
  it('the agent removes the volume group and the array before it writes', () => {
    const [run] = powerCut.first.runs;
    expect(powerCut.first.before).toMatch(/^disk lvm part raid1$/m);
    expect(finishedAt(run?.events, 'disk/clean')).not.toBeNaN();
    expect(run?.events.map(({ type }) => type)).toContain('step.progress');
  });

  it('a power cut during the write leaves a disk that does not boot', () => {
    expect(powerCut.cutDisk).toEqual({ hasBootCode: false, partitions: 0 });
    expect(powerCut.cutDiskConsole).toContain('UEFI Interactive Shell');
    expect(powerCut.cutDiskConsole).not.toContain('GRUB');
  });

  it('the same command then installs, even if the mirror cuts the connection', () => {
    const [run] = powerCut.second.runs;
    const end = run?.events.find(({ type }) => type === 'run.finished');
    expect(end).toMatchObject({ outcome: 'left the host' });
    const [first, second, afterCut] = powerCut.imageBegins;
    expect([first, second]).toEqual([0, 0]);
    expect(afterCut).toBeGreaterThan(0);
  });

  it('a service that is gone since the write costs only a minute at the end', () => {
    const events = powerCut.second.runs[0]?.events;
    expect(powerCut.reports.at(-1)).toMatch(/^Writing image to disk: (?:\d+%)?$/);
    // Fifteen seconds for the state of the logs, sixty for the last report; the rest is work. The
    // other guest, whose service stays, has about the same work, and others slow down both.
    expect(secondsAtEnd(events)).toBeLessThan(
      15 + 60 + 100 + 2 * secondsAtEnd(uefi.job.runs[1]?.events),
    );
  });

  it('the agent reports a registry that dies during a pull', () => {
    const lastError = errorsIn(powerCut.second.runs[0]?.events ?? []);
    const notes = lastError.flatMap((event) => (event.type === 'note' ? event.fields['code'] : []));
    expect(notes).toEqual(['image.registry-unreachable']);
  });

  it('the disk then boots the system of its image, and Ignition applies the served config', () => {
    const { boot } = powerCut;
    expect(linesOf(boot.report, 'firmware')).toEqual(['bios']);
    expectFirstBoot(boot, 'bios-0');
    expect(linesOf(boot.report, 'layers')).toEqual(['']);
    expect(argumentsOf(boot.report)).toContain('lab.installed=yes');
    expect(argumentsOf(boot.report)).not.toContain('lab.final=yes');
    expect(boot.asked).toEqual(['/config/master', '/config/master']);
  });
});

describe('from a config drive of a Machine of Cluster API, into the root that runs', () => {
  it('Ignition of the disk image reads the data Secret and starts the agent', () => {
    expect(argumentsOf(configDrive.report)).toEqual(
      expect.arrayContaining(['ignition.firstboot', 'ignition.platform.id=openstack']),
    );
    expect(configDrive.events.map(({ type }) => type)).toContain('run.started');
  });

  it('the agent leaves the host without a warning, and its config shows Rebooting', () => {
    const { events, config, warnings } = configDrive;
    expect(errorsIn(events)).toEqual([]);
    const end = events.find(({ type }) => type === 'run.finished');
    expect(end).toMatchObject({ outcome: 'left the host' });
    expect(config['status']).toMatchObject({
      role: 'master',
      progress: { stage: 'Rebooting', attempt: 1 },
    });
    expect(warnings).toEqual([]);
    expectPulled(images.other.pulled(), images.other.newBytes);
  });

  it('the new system has its first boot in its own stateroot', () => {
    expectSystem(configDrive.boot, images.other.image, 'second');
    expectFirstBoot(configDrive.boot, 'existing-0');
    const [commandLine] = linesOf(configDrive.boot.report, 'cmdline');
    expect(commandLine).toMatch(/ ostree=\/ostree\/boot\.[01]\/install\//);
    expect(configDrive.boot.asked).toEqual(['/config/master']);
  });

  it('the node is registered with the UUID of the config drive', () => {
    expect(configDrive.boot.report).toMatch(
      new RegExp(`^KUBELET .*--node-labels=metal3\\.io/uuid=${metadataUuid}$`, 'm'),
    );
  });

  it('the former system still has a boot entry', () => {
    const before = linesOf(configDrive.boot.report, 'entry ostree-1.conf');
    expect(before[0]).toMatch(/ ostree=\/ostree\/boot\.[01]\/rhcos\//);
  });
});

describe('the lab with one MachineOSConfig', () => {
  it('builds an image during the install and boots once, straight into it', () => {
    const { exitCode, output, report } = lab;
    expect(report.differences, output).toEqual([]);
    expect(exitCode).toBe(0);
    const [built] = report.layering?.images ?? [];
    const hosts = [{ outcome: 'done', boots: 1, system: built?.image, writes: 1 }];
    expect(report).toMatchObject({ hosts, layering: { images: [{ pool: 'master' }] } });
    const { newBytes = 0, pulledBytes = 0 } = built ?? {};
    expect(pulledBytes).toBeGreaterThan(newBytes);
    // Manifest and config are asked for besides the new layers, which are smaller here.
    expect(pulledBytes).toBeLessThan(newBytes + 20_000);
  });

  it('saves its page with all steps of the plan as done', () => {
    const saved = readFileSync(pageFile(), 'utf8');
    const cells = [...saved.matchAll(/ \(((?:stage: |[a-z]+\/)[^()]+)\), ([^<]+)<\/title/g)];
    const steps = new Map(cells.map(([, id = '', state = '']) => [id, state]));
    for (const id of ['image/write', 'layering/overwrite-os'])
      expect(steps.get(id), id).toMatch(/^done in \d/);
    for (const id of ['finish/leave-host', 'stage: Joined'])
      expect(steps.get(id), id).toMatch(/^done/);
    expect([...steps].filter(([, state]) => !/^(done|skipped)/.test(state))).toEqual([]);
  });
});

describe('bootwright node on the host that was installed by UEFI', () => {
  const first = () => readNode(uefi.boot);
  const second = () => readNode(uefi.moved);

  it('refuses an image without space, for another architecture or with an incomplete pull', () => {
    const failed = first().commands.slice(0, 3);
    expect(failed.map(({ stderr }) => /^failed: (\S+):/m.exec(stderr)?.[1])).toEqual([
      'os.no-space',
      'os.wrong-architecture',
      'os.pull-cut',
    ]);
    expect(failed.map(({ exitCode }) => exitCode)).toEqual([4, 2, 5]);
  });

  it('keeps the next boot unchanged after these failures', () => {
    const [before, after] = first().next;
    expect(before).toContain(images.final.image);
    expect(after).toBe(before);
  });

  it('succeeds with all other commands', () => {
    const commands = [...first().commands.slice(3), ...second().commands];
    expect(commands.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
  });

  it('stages an image by its new layers only, and keeps the disk read-only', () => {
    const { driver, booted, staged, rollback } = statusIn(first().commands[3]);
    expect([driver, booted?.image]).toEqual(['rpm-ostree', images.final.image]);
    expect(staged?.image).toBe(images.second.image);
    expect(images.second.image).toContain(staged?.digest);
    expect(rollback?.image).toContain('/release/labcoreos:1.0.0');
    expectPulled(uefi.pulled[1], images.second.newBytes);
    expect(first().mounts.toSorted()).toEqual(['/boot ro', '/sysroot ro']);
  });

  it('boots that image next, with the kernel argument', () => {
    expectSystem(uefi.moved, images.second.image, 'second');
    expect(linesOf(uefi.moved.report, 'boots')).toEqual(['2']);
    expect(argumentsOf(uefi.moved.report)).toEqual(
      expect.arrayContaining(['lab.node=yes', 'lab.final=yes', 'ignition.platform.id=metal']),
    );
    expect(argumentsOf(uefi.moved.report)).not.toContain('ignition.firstboot');
    const { booted, staged, rollback, kernelArguments } = statusIn(second().commands[0]);
    expect([booted?.image, staged, rollback?.image]).toEqual([
      images.second.image,
      undefined,
      images.final.image,
    ]);
    expect(kernelArguments).toContain('lab.node=yes');
  });

  it('keeps the record for the daemon over the reboot', () => {
    expect(second().record).toBe(images.second.image);
  });

  it('removes unreferenced images and keeps the rollback', () => {
    const [before, after] = second().images;
    const kept = [images.final, images.second].map(({ image }) => `docker://${image}`);
    expect(before).toHaveLength(3);
    expect(after?.toSorted()).toEqual(kept.toSorted());
  });

  it('drops the staged image, and then rolls back', () => {
    const [, ordered, dropped] = second().commands;
    expect(statusIn(ordered).staged?.image).toBe(images.final.image);
    expect(statusIn(dropped)).toMatchObject({ booted: { image: images.second.image } });
    expect(statusIn(dropped)).not.toHaveProperty('staged');
    expectSystem(uefi.back, images.final.image, 'final');
    expect(argumentsOf(uefi.back.report)).not.toContain('lab.node=yes');
    expect(linesOf(uefi.back.report, 'boots')).toEqual(['3']);
  });
});
