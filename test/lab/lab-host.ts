import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';
import { buildMachine, HostPlan } from '../../mocks/host/build-machine.ts';
import type { Machine } from '../../mocks/host/machine.ts';
import { nsenterOptions } from '../../mocks/host/programs.ts';
import { type HostServer, placeStandIn, serveHost } from '../../mocks/host/socket-server.ts';

/** How a command of a simulated host ended. */
interface Ended {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A simulated host, and the stand-in for nsenter that leads to it. */
interface HostSpec {
  /** Its files are in `root` below this. */
  readonly folder: string;
  readonly machine: Machine;
  readonly server: HostServer;
  /** Starts it; a test does so once. */
  readonly begin: (plan?: object) => Promise<void>;
  readonly start: (...argv: readonly string[]) => ChildProcess;
  /** Runs a command without stdin to its end. */
  readonly run: (...argv: readonly string[]) => Promise<Ended>;
}

/** Waits for the end of a command. */
export async function end(child: ChildProcess): Promise<Ended> {
  const closed = once(child, 'close') as Promise<[number | null, string | null]>;
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [exitCode, signal] = await closed;
  return { exitCode, signal, stdout, stderr };
}

/** Gives each test of a file a folder for a host, and takes the host away with it. */
export function labHost(): HostSpec {
  let folder = '';
  let machine: Machine;
  let server: HostServer;
  beforeEach(async () => {
    folder = await mkdtemp(join(await realpath(tmpdir()), 'lab-host-'));
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const start: HostSpec['start'] = (...argv) =>
    spawn(join(folder, 'bin', 'nsenter'), [...nsenterOptions, ...argv], {
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: 'pipe',
    });
  return {
    get folder() {
      return folder;
    },
    get machine() {
      return machine;
    },
    get server() {
      return server;
    },
    begin: async (plan = {}) => {
      const usual = { name: 'm1', write: { seconds: 0.3, lineMillis: 50 } };
      machine = buildMachine(HostPlan.parse({ ...usual, ...plan }), join(folder, 'root'));
      server = await serveHost(machine, join(folder, 'socket'));
      await placeStandIn(join(folder, 'bin'), join(folder, 'socket'));
    },
    start,
    run: (...argv) => {
      const child = start(...argv);
      child.stdin?.end();
      return end(child);
    },
  };
}
