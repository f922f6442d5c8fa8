import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { partFolder } from '../../scripts/parts/cache.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { liveRoot } from '../../scripts/parts/live-root.ts';
import { osDisk } from '../../scripts/parts/os-disk.ts';
import { compareWithRecording } from '../installer/recording.ts';
import { createProgramsDisk } from './rig/agent-disk.ts';
import { copyDisk, createBlankDisk } from './rig/disks.ts';
import { startGuest } from './rig/guest.ts';
import { jobResult, startLiveGuest } from './rig/live-guest.ts';
import { type Firmware } from './rig/qemu-argv.ts';
import { createTestFolder, type TestFolder } from './rig/test-folder.ts';

const proofUnit = `[Unit]
Before=labcoreos-report.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo PROOF-UNIT $$(cat /etc/proof /var/lib/proof) $$(id -nG core) > /dev/ttyS1'
[Install]
WantedBy=multi-user.target
`;

const ignition = JSON.stringify({
  ignition: { version: '3.3.0' },
  passwd: { users: [{ name: 'core', groups: ['sudo'] }] },
  storage: {
    files: [
      { path: '/etc/proof', mode: 420, contents: { source: 'data:,in-etc%0A' } },
      { path: '/var/lib/proof', mode: 420, contents: { source: 'data:,in-var%0A' } },
      {
        path: '/etc/hostname',
        mode: 420,
        overwrite: true,
        contents: { source: 'data:,master-0%0A' },
      },
    ],
  },
  systemd: { units: [{ name: 'proof.service', enabled: true, contents: proofUnit }] },
});

const script = `set -euo pipefail
enter="nsenter --target 1 --cgroup --mount --ipc --pid --"
SECRET=kept run-agent --env SECRET /bin/sh -c "
  echo IN-AGENT secret=\\$SECRET own=\\$(test -e /usr/bin/systemctl || echo root)
  echo from-agent > /opt/proof
  $enter cat /opt/proof
  echo PID1 \\$($enter readlink /proc/1/exe) \\$($enter systemctl is-active systemd-journald)
"
curl -sS "http://10.0.2.2:$(cat /job/port)/by-gateway"
curl -sS http://10.0.2.100/by-forward
run-agent /bin/sh -c 'exit 7' || echo "AGENT-RC=$?"
coreos-installer install --image-file /job/labcoreos.raw.zst --insecure -i /job/config.ign \\
  --platform metal --append-karg lab.installed=yes /dev/disk/by-id/virtio-target 2>&1 | cat
echo JOB-DONE
systemctl reboot
`;

let folder: TestFolder;
let jobLog: string;

beforeAll(async () => {
  await ensureParts([osDisk, liveRoot]);
  folder = createTestFolder('rig');
  const at = (name: string) => join(folder.path, name);
  createBlankDisk(at('target.raw'), 4096);
  await createProgramsDisk(at('agent.raw'), at('agent'), ['/bin/sh', '/usr/bin/nsenter']);
  const server = createServer((request, response) =>
    response.end(`REACHED ${request.url ?? ''}\n`),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const live = {
    script,
    texts: { 'config.ign': ignition, port: String(port) },
    guestForwards: [{ guestAddress: '10.0.2.100', guestPort: 80, hostPort: port }],
    files: { 'labcoreos.raw.zst': join(partFolder(osDisk), 'labcoreos.raw.zst') },
    disks: [
      { path: at('target.raw'), serial: 'target', writes: 'kept' },
      { path: at('agent.raw'), serial: 'agent', writes: 'read-only' },
    ],
  } as const;
  await using guest = await startLiveGuest(live, folder.path, 'live');
  await guest.job.waitForLine(/^JOB-DONE$/, 600);
  await guest.ended(120);
  jobLog = guest.job.text();
  server.close();
}, 3_600_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

describe('a live guest', () => {
  it('runs an agent in a root of its own, with the folders of the host that it is given', () => {
    expect(jobLog).toContain('IN-AGENT secret=kept own=root\nfrom-agent\n');
  });

  it('lets the agent reach PID 1 of the host by nsenter', () => {
    expect(jobLog).toContain('PID1 /usr/lib/systemd/systemd active\n');
  });

  it('reaches servers of this machine by the gateway and by an address of their own', () => {
    expect(jobLog).toContain('REACHED /by-gateway\n');
    expect(jobLog).toContain('REACHED /by-forward\n');
  });

  it('hands on the exit code of the agent', () => {
    expect(jobLog).toContain('AGENT-RC=7\n');
  });

  it('writes Lab CoreOS with the real coreos-installer', () => {
    const said = /^Copying image from[^]*^Install complete\.$/m.exec(jobLog)?.[0] ?? '';
    const { recorded, fresh } = compareWithRecording('success', `${said}\n`, {
      '/dev/disk/by-id/virtio-target': '/dev/vda',
      '/job/labcoreos.raw.zst': '/images/labcoreos.raw.zst',
    });
    expect(fresh).toEqual(recorded);
    expect(fresh).toContain('Install complete.');
  });
});

describe('an installed disk', () => {
  it.concurrent.each<Firmware>(['bios', 'uefi'])(
    'boots by %s and applies Ignition',
    async (firmware) => {
      const disk = join(folder.path, `${firmware}.raw`);
      await copyDisk(join(folder.path, 'target.raw'), disk);
      const disks = [{ path: disk, serial: 'target', writes: 'kept' }] as const;
      await using guest = startGuest({ firmware, disks }, folder.path, firmware);
      await guest.job.waitForLine(/^LABCOREOS-REPORT-END$/, 600);
      const report = guest.job.text();
      expect(report).toMatch(/^LABCOREOS hostname: master-0$/m);
      expect(report).toMatch(/^LABCOREOS boots: 1$/m);
      expect(report).toMatch(/^LABCOREOS cmdline: .*ignition\.firstboot .*lab\.installed=yes/m);
      expect(report).not.toMatch(/^LABCOREOS boot: .*ignition/m);
      expect(report).toMatch(/^PROOF-UNIT in-etc in-var core sudo$/m);
      expect(report).toMatch(new RegExp(`^LABCOREOS firmware: ${firmware}$`, 'm'));
    },
  );
});

describe('a guest whose power is cut', () => {
  it('is gone at once, and no wait for it goes on', async () => {
    const live = { script: 'exit 0', disks: [] };
    await using guest = await startLiveGuest(live, folder.path, 'cut');
    await guest.console.waitForLine(/Linux version/, 120);
    const wait = jobResult(guest, 120);
    await Promise.all([guest.powerCut(), expect(wait).rejects.toThrow('the guest ended')]);
  });
});
