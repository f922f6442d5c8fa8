import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentImageBase } from '../../scripts/parts/agent-image.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { qemu } from '../../scripts/parts/guest.ts';
import { networkLive } from '../../scripts/parts/network-live.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { proofLine } from './install/ignition.ts';
import { linesOf } from './install/report-lines.ts';
import { installFromNetwork, type NetworkInstall } from './network/network-install.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

let folder: TestFolder;
let install: NetworkInstall;

beforeAll(async () => {
  await ensureParts([qemu, networkLive, osDisk, agentImageBase]);
  folder = createTestFolder('network');
  install = await installFromNetwork({ folder: folder.path });
}, 3_600_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

describe('deploy/pxe/boot.ipxe and deploy/host/install-worker.ign, as they are', () => {
  it('start a live host over the network, and ask for nothing but files', () => {
    expect(install.asked).toEqual([
      '/rhcos-live-kernel.x86_64',
      '/rhcos-live-initramfs.x86_64.img',
      '/rhcos-live-rootfs.x86_64.img',
      '/install-worker.ign',
      '/rhcos-metal.x86_64.raw.gz',
      '/worker.ign',
      '/rhcos-metal.x86_64.raw.gz.sig',
    ]);
  });

  it('let systemd start the agent once, as a quadlet, by podman', () => {
    expect(install.live).toMatch(/systemd\[1\]: Starting bootwright\.service - Install this host/);
    expect(install.live.match(/Starting bootwright\.service/g)).toHaveLength(1);
  });

  it('install the disk, which boots and applies what its Ignition points to', () => {
    const { report, asked } = install.boot;
    expect(report.split('\n')).toContain(proofLine);
    expect(linesOf(report, 'hostname')).toEqual(['network-0']);
    expect(linesOf(report, 'boots')).toEqual(['1']);
    expect(asked).toEqual(['/config/worker']);
  });
});
