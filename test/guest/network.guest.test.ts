import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planOfAgent } from '../../mocks/lab/agent.ts';
import { railOfPlan } from '../../mocks/lab/page.ts';
import { agentBase } from '../../scripts/parts/agent-base.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { aptPackages } from '../../scripts/parts/apt-packages.ts';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { networkLive, qemu } from '../../scripts/parts/scripted.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { railSteps } from '../../src/page/rail.ts';
import type { DiskBoot } from './install/first-boot.ts';
import { proofLine } from './install/ignition.ts';
import { linesOf } from './install/report-lines.ts';

import {
  type MadeMedium,
  makeMedium,
  statusPort,
  type WatchEnd,
  watchToTheEnd,
} from './network/medium.ts';
import { bootWorker, installFromNetwork, type NetworkInstall } from './network/network-install.ts';
import { openNetworkSite } from './network/network-site.ts';
import { freePort } from '../../mocks/kube/program.ts';
import { keyfilesOn } from './rig/os-disk.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

let folder: TestFolder;
let medium: MadeMedium;
let worker: NetworkInstall;
let watched: WatchEnd;
let keyfiles: string;
let boot: DiskBoot;
let master: NetworkInstall;
let networkWorker: NetworkInstall;
let asked: ReadonlySet<string>;

beforeAll(async () => {
  await ensureParts([aptPackages, qemu, coreosInstaller, networkLive, osDisk, agentBase()]);
  folder = createTestFolder('network');
  await using site = await openNetworkSite(folder.path);
  const over = new AbortController();
  // A guest has one processor, and two guests at once keep two processors busy.
  await Promise.all([
    (async () => {
      // All that differs from the installation by a medium has happened by then.
      const until = /"type":"step.finished","step":"ignition\/fetch-host"/;
      master = await installFromNetwork(site, 'grub', { until });
      networkWorker = await installFromNetwork(site, 'ipxe', { until });
    })(),
    (async () => {
      medium = await makeMedium(site);
      const hostPort = await freePort();
      const watching = watchToTheEnd(hostPort, over.signal);
      const hostForwards = [{ hostPort, guestPort: statusPort }];
      worker = await installFromNetwork(site, 'medium', { medium: medium.path, hostForwards });
      keyfiles = await keyfilesOn(worker.target);
      boot = await bootWorker(site, worker);
      watched = await watching;
    })(),
  ]).finally(() => {
    over.abort();
  });
  asked = new Set(site.web.requests.map(({ path }) => path));
});

afterAll(() => {
  folder[Symbol.dispose]();
});

describe('deploy/pxe and deploy/host, with the digest of the image', () => {
  it('request only files', () => {
    expect([...asked].toSorted()).toEqual([
      '/install-master.ign',
      '/install-worker.ign',
      '/rhcos-live-initramfs.x86_64.img',
      '/rhcos-live-kernel.x86_64',
      '/rhcos-live-rootfs.x86_64.img',
      '/rhcos-metal.x86_64.raw.gz',
      '/worker.ign',
    ]);
  });

  it('let systemd start the agent as a quadlet', () => {
    expect(networkWorker.console).toMatch(
      /systemd\[1\]: Starting bootwright\.service - Install this host/,
    );
  });

  it('start a worker by iPXE with the Ignition of the web server', () => {
    expect(endedSteps(networkWorker)).toContain('ignition/fetch-host');
  });

  it('start a control-plane node by GRUB with the Ignition of the live system', () => {
    expect(master.console).toMatch(/^\[ +0\.0+\] Command line: BOOT_IMAGE=\S*\/rhcos-live-kernel/m);
    expect(master.events).toContainEqual(
      expect.objectContaining({ type: 'run.started', role: 'master' }),
    );
    expect(endedSteps(master)).toContain('ignition/fetch-host');
  });
});

describe('a medium of bootwright media from a live ISO', () => {
  it('is printed with the disk that it erases and its secrets', () => {
    expect(medium.printed).toMatch(/^everything on \/dev\/disk\/by-id\/wwn-0x5000c500a0b1c2d3 is/m);
    expect(medium.printed).toMatch(/^ {2}bootwright\.service .*registry\.example\/bootwright:/m);
  });

  it('lets systemd start the agent once', () => {
    expect(worker.console).toMatch(
      /^\[ +0\.0+\] Command line: BOOT_IMAGE=\/images\/pxeboot\/vmlinuz/m,
    );
    expect(worker.console.match(/Starting bootwright\.service - Install this host/g)).toHaveLength(
      1,
    );
  });

  it('starts an agent that emits events, with steps of its plan only', async () => {
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

  it('is watched by one command from before its start to the end of its installation', () => {
    expect(watched.printed).toMatch(/^\S+ 127\.0\.0\.1:\d+: no status yet: /);
    expect(watched.printed).toMatch(/^\S+ 127\.0\.0\.1:\d+: image\/write: /m);
    expect(watched.exitCode).toBe(0);
  });

  it('installs a worker with keyfiles that boots and applies its Ignition', () => {
    expect(keyfiles).toMatch(/\/100600\/0\/0\/eth0\.nmconnection\//);
    expect(boot.report.split('\n')).toContain(proofLine);
    expect(linesOf(boot.report, 'hostname')).toEqual(['network-0']);
    expect(linesOf(boot.report, 'boots')).toEqual(['1']);
    expect(boot.asked).toEqual(['/config/worker']);
  });
});

const endedSteps = ({ events }: NetworkInstall): readonly string[] =>
  events.flatMap((event) => (event.type === 'step.finished' ? [event.step] : []));
