import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { mebibyte } from '../../../scripts/parts/disk/gpt.ts';
import { osDiskShape } from '../../../scripts/parts/os-disk.ts';
import { osFile } from '../../../scripts/parts/os-files.ts';
import type { Guest } from '../rig/guest.ts';
import { startGuest } from '../rig/guest.ts';
import { createJobDisk } from '../rig/live-guest.ts';
import { type AgentRun, jobOf } from './live-install.ts';

const run = promisify(execFile);

/** A host that runs from an installed disk, and an agent there. */
export interface DiskHost {
  /** The disk that prepareHostDisk made. */
  readonly target: string;
  /** The disk that createAgentDisk made. */
  readonly agentDisk: string;
  /** Bash, run in the guest before the agent. */
  readonly before: string;
  readonly run: AgentRun;
}

/** Where the programs of the live system lie on a host whose /usr is read-only. */
const programs = '/etc/lab';

/**
 * Makes a disk with Lab CoreOS as coreos-installer would leave it, whose Ignition brings what the
 * live system has to run a job with an agent. Its first boot is the host's.
 */
export async function prepareHostDisk(path: string, image: string): Promise<void> {
  await run('zstd', ['-d', '-q', '-f', '--sparse', image, '-o', path]);
  const config = `${path}.ign`;
  writeFileSync(config, JSON.stringify(hostIgnition()));
  const requests = `${path}.requests`;
  writeFileSync(requests, `mkdir /ignition\nwrite ${config} /ignition/config.ign\n`);
  const boot = `${path}?offset=${osDiskShape.boot.startMiB * mebibyte}`;
  await run('debugfs', ['-w', '-f', requests, boot]);
}

/** Starts the host; its job says `ALL-SAID` last, and the guest reboots when the agent asks for it. */
export async function startDiskHost(host: DiskHost, folder: string, name: string): Promise<Guest> {
  const { target, agentDisk, before } = host;
  const disks = [
    { path: target, serial: 'target', writes: 'kept' },
    { path: agentDisk, serial: 'agent', writes: 'read-only' },
    await createJobDisk(jobOf([host.run], before), folder, name),
  ] as const;
  return startGuest({ firmware: 'bios', disks }, folder, name);
}

const live = (path: string): string => readFileSync(osFile(`live/tree/usr/${path}`), 'utf8');

const hostIgnition = (): object => ({
  ignition: { version: '3.2.0' },
  storage: {
    directories: [{ path: '/etc/pki' }],
    files: [program('bin/run-agent'), program('libexec/live-job')],
  },
  systemd: {
    units: [
      { name: 'systemd-networkd-wait-online.service', enabled: true },
      { name: 'live-job.service', enabled: true, contents: jobUnit() },
    ],
  },
});

function program(path: string): object {
  const source = `data:;base64,${Buffer.from(live(path)).toString('base64')}`;
  return { path: `${programs}/${path.split('/').at(-1)}`, mode: 0o755, contents: { source } };
}

function jobUnit(): string {
  const more = [
    `Environment=PATH=${programs}:/usr/sbin:/usr/bin`,
    // The top folder of a deployment is immutable, and a job wants its /job.
    'ExecStartPre=chattr -i /',
    `ExecStart=${programs}/live-job`,
  ];
  return live('lib/systemd/system/live-job.service').replace(/^ExecStart=.*$/m, more.join('\n'));
}
