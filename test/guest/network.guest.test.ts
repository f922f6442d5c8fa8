import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planOfAgent } from '../../mocks/lab/agent.ts';
import { railOfPlan } from '../../mocks/lab/page-rail.ts';
import { agentImageBase } from '../../scripts/parts/agent-image.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { qemu } from '../../scripts/parts/guest.ts';
import { networkLive } from '../../scripts/parts/network-live.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { railSteps } from '../../src/page/rail.ts';
import type { DiskBoot } from './install/first-boot.ts';
import { proofLine } from './install/ignition.ts';
import { linesOf } from './install/report-lines.ts';
import { bootWorker, installFromNetwork, type NetworkInstall } from './network/network-install.ts';
import { openNetworkSite } from './network/network-site.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

let folder: TestFolder;
let worker: NetworkInstall;
let boot: DiskBoot;
let master: NetworkInstall;
let asked: ReadonlySet<string>;

beforeAll(async () => {
  await ensureParts([qemu, networkLive, osDisk, agentImageBase()]);
  folder = createTestFolder('network');
  await using site = await openNetworkSite(folder.path);
  // A guest has one processor, and two guests at once keep two processors busy.
  [master, boot] = await Promise.all([
    // A control-plane node is written as a worker is; what differs has happened by then.
    installFromNetwork(site, 'grub', { until: /"type":"step.started","step":"image\/write"/ }),
    (async () => {
      worker = await installFromNetwork(site, 'ipxe');
      return bootWorker(site, worker);
    })(),
  ]);
  asked = new Set(site.web.requests.map(({ path }) => path));
}, 3_600_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

describe('deploy/pxe and deploy/host, as they are', () => {
  it('ask for nothing but files', () => {
    expect([...asked].toSorted()).toEqual([
      '/install-master.ign',
      '/install-worker.ign',
      '/rhcos-live-initramfs.x86_64.img',
      '/rhcos-live-kernel.x86_64',
      '/rhcos-live-rootfs.x86_64.img',
      '/rhcos-metal.x86_64.raw.gz',
      '/rhcos-metal.x86_64.raw.gz.sig',
      '/worker.ign',
    ]);
  });

  it('let systemd start the agent once, as a quadlet, by podman', () => {
    expect(worker.console).toMatch(
      /systemd\[1\]: Starting bootwright\.service - Install this host/,
    );
    expect(worker.console.match(/Starting bootwright\.service/g)).toHaveLength(1);
  });

  it('start agents that emit their events while they run, each step one of the plan', async () => {
    const config = join(deploy, 'host/config/worker.yaml');
    const { items, always, follow } = await planOfAgent(['--config', config], {});
    const known = [...railSteps(railOfPlan({ items, always }, [])), ...follow].map(({ id }) => id);
    const started = worker.events.flatMap((event) =>
      event.type === 'step.started' ? [event.step] : [],
    );
    expect(started.filter((id) => !known.includes(id))).toEqual([]);
    expect(started).toEqual(expect.arrayContaining(['image/write', 'finish/leave-host']));
    const written = worker.events.filter(({ type }) => type === 'step.progress');
    expect(written.length).toBeGreaterThan(2);
  });

  it('install a worker by iPXE, whose disk boots and applies what its Ignition points to', () => {
    expect(boot.report.split('\n')).toContain(proofLine);
    expect(linesOf(boot.report, 'hostname')).toEqual(['network-0']);
    expect(linesOf(boot.report, 'boots')).toEqual(['1']);
    expect(boot.asked).toEqual(['/config/worker']);
  });

  it('start a control-plane node by GRUB, with the Ignition that the live system brought', () => {
    expect(master.console).toMatch(/^\[ +0\.0+\] Command line: BOOT_IMAGE=\S*\/rhcos-live-kernel/m);
    expect(master.events).toContainEqual(
      expect.objectContaining({ type: 'run.started', role: 'master' }),
    );
    const ended = master.events.flatMap((event) =>
      event.type === 'step.finished' ? [event.step] : [],
    );
    expect(ended).toEqual(expect.arrayContaining(['disk/clean', 'ignition/fetch-host']));
  });
});
