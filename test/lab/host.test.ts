// Isolation of a simulated host from this machine by the stand-in for nsenter.
import { execFile } from 'node:child_process';
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { nsenterOptions } from '../../mocks/host/programs.ts';
import { type HostServer, placeStandIn, serveHost } from '../../mocks/host/socket-server.ts';

let folder: string;
let machine: Machine;
let server: HostServer;
beforeEach(async () => {
  folder = await mkdtemp(join(await realpath(tmpdir()), 'lab-host-'));
  machine = buildMachine(HostPlan.parse({ name: 'm1' }), join(folder, 'root'));
  server = await serveHost(machine, join(folder, 'socket'));
  await placeStandIn(join(folder, 'bin'), join(folder, 'socket'));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** Runs a command on the host; rejects with its exit code when that is not 0. */
const run = (...argv: readonly string[]): Promise<unknown> =>
  promisify(execFile)(join(folder, 'bin', 'nsenter'), [...nsenterOptions, ...argv], {
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
  });

describe('a simulated host', () => {
  it('fails with 127 for an unknown command and records it', async () => {
    await expect(run('frobnicate', '--all')).rejects.toMatchObject({ code: 127 });
    expect(machine.unknown).toEqual(['frobnicate --all']);
  });

  it('does not follow a symlink out of its root', async () => {
    await symlink('/etc', join(folder, 'root/opt/out'));
    await expect(run('cat', '/opt/out/passwd')).rejects.toMatchObject({ code: 1, stdout: '' });
  });

  it.each([
    ['wipefs', '--all', '/dev/vdz'],
    ['dd', 'if=/dev/zero', 'of=/dev/vdz', 'bs=512', 'count=1'],
    ['coreos-installer', 'install', '/dev/vdz'],
    ['mount', '/dev/vdz1', '/mnt'],
  ])('has no devices of this machine: %s', async (...argv) => {
    await expect(run(...argv)).rejects.toMatchObject({ code: expect.any(Number) as number });
  });
});
