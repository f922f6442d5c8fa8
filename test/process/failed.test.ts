import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  cannotWrite,
  type Fault,
  fullBut,
  fullFrom,
  imports,
  interpose,
  onceRan,
  runUnder,
  writeIn,
} from './faulty-run.ts';

/** A script that plants a bug in a source file: looking for a stage throws. */
const faultIn = (path: string): string => `
  const { indexOf } = Array.prototype;
  Array.prototype.indexOf = function (what) {
    const fault = new Error('a bug');
    if (what === 'Writing image to disk' && fault.stack.includes('${path}')) throw fault;
    return indexOf.apply(this, arguments);
  }`;

/**
 * A script that gives a stopped agent ten minutes to end, and for its report, not 3.8 and 1.5 s: a
 * busy machine is slower. That it ends before podman kills it, agent.image.test.ts asserts.
 */
const unhurried = `
  import { syncBuiltinESMExports } from 'node:module';
  import timers from 'node:timers/promises';
  const [later, pause, long] = [globalThis.setTimeout, timers.setTimeout, 600000];
  globalThis.setTimeout = (work, delay, ...more) =>
    later(work, delay === 3800 ? long : delay, ...more);
  timers.setTimeout = (delay, ...more) =>
    pause(delay > 500 && delay <= 1500 ? long : delay, ...more);
  syncBuiltinESMExports();`;

/** Faults by name: the exit code of the agent, and the start of the message at the service. */
const faults: Readonly<Record<string, readonly [number, string, Fault]>> = {
  'a lock that cannot be taken': [
    4,
    'command.failed',
    { before: (host) => interpose(host, 'flock', 'exit 3') },
  ],
  'a missing disk, while the service answers 503': [
    2,
    'disk.missing',
    {
      words: ['--boot-device', '/dev/sdz'],
      before: ({ inventory }) =>
        inventory.faults.add({
          kind: 'status',
          status: 503,
          on: 'progress',
          from: 'Failed',
          times: 2,
        }),
    },
  ],
  'a journal that is a folder': [
    4,
    'file.not-read',
    {
      before: (host) => writeIn(host, 'opt/install-dir/journal.jsonl/in-the-way'),
    },
  ],
  'a disk that is full during the run': [
    4,
    'file.not-written',
    { before: (host) => fullBut(host, 4) },
  ],
  'a disk that is full when the image is written': [
    4,
    'journal.not-kept',
    { before: (host) => fullFrom(host, 'coreos-installer', ':') },
  ],
  'an image that cannot be written, after a bug in the reporter': [
    4,
    'image.',
    {
      env: { NODE_OPTIONS: imports(faultIn('reporting/ladder')) },
      before: cannotWrite,
    },
  ],
  'an uncaught error': [
    1,
    'run.unexpected',
    {
      env: {
        NODE_OPTIONS: imports("process.on('SIGUSR2', () => { throw new Error('a bug'); })"),
      },
      plan: { write: { seconds: 30, lineMillis: 100 } },
      before: (host) => interpose(host, 'coreos-installer install', 'kill -USR2 $PPID'),
    },
  ],
  'a stop while the lock is taken': [
    143,
    'run.stopped',
    {
      env: { NODE_OPTIONS: imports(unhurried) },
      before: (host) => interpose(host, 'flock', 'kill -TERM $PPID; sleep 0.2'),
    },
  ],
  'a stop while the image is written, with a slow service': [
    143,
    'run.stopped',
    {
      plan: { write: { seconds: 30, lineMillis: 100 } },
      before: ({ inventory }) =>
        inventory.faults.add({ kind: 'slow', delaySeconds: 0.7, on: 'progress' }),
      beside: onceRan('coreos-installer'),
    },
  ],
  'a stop while the logs of a failure are collected': [
    143,
    'disk.missing',
    {
      plan: { role: 'bootstrap' },
      words: ['--boot-device', '/dev/sdz', '--openshift-version', '4.21.0'],
      before: (host) => {
        writeIn(host, 'opt/openshift/bootwright-layering/os-configs/master.yaml');
        interpose(host, 'journalctl', 'kill -TERM $PPID; sleep 5');
      },
    },
  ],
};

describe('the agent reports Failed before it ends', () => {
  it.each(Object.entries(faults))('for %s', async (...[, [exitCode, code, how]]) => {
    const end = await runUnder(how);
    expect(end).toMatchObject({ exitCode, status: 'error' });
    expect(end.statusInfo).toMatch(new RegExp(`^Failed - ${code}`));
    if (code === 'run.stopped') return;
    expect(end.log).toMatch(new RegExp(`^failed: ${code}`, 'm'));
    if (exitCode !== 1) expect(end.log).toMatch(/^next: .*actions\/reset/m);
  });

  it('for a journal on a full disk, with only a warning about the logs', async () => {
    const end = await runUnder({ before: (host) => fullBut(host, 0) });
    expect(end).toMatchObject({ exitCode: 4, status: 'error' });
    expect(end.statusInfo).toMatch(/^Failed - journal\.not-kept/);
    expect(end.log).toMatch(/"level":"warn".*"step":"logs\/collect"/);
    expect(end.log).not.toMatch(/^logs: /m);
  });
});

describe('the agent does not report Failed', () => {
  it('for a second agent on the host', async () => {
    const end = await runUnder({
      before: ({ machine }) => void machine.locks.add('/run/lock/bootwright-agent'),
    });
    expect(end).toMatchObject({ exitCode: 4, status: 'installing' });
    expect(end.log).toContain('failed: cli.already-running');
    expect(end.log).not.toContain('actions/reset');
  });

  it('for a stop by its own reboot, which ends the command that ordered it too', async () => {
    const stop = '"$0.real" "$@"; kill -TERM $PPID; sleep 0.3; kill -TERM $$';
    const end = await runUnder({ before: (host) => interpose(host, 'shutdown', stop) });
    expect(end).toMatchObject({ exitCode: 0, status: 'installing-in-progress' });
    expect(end.ran).toContain('shutdown');
  });

  it('for a log file that cannot be opened or an address in use, but warns', async () => {
    await using taken = createServer();
    await once(taken.listen(0, '127.0.0.1'), 'listening');
    const { port } = taken.address() as AddressInfo;
    const end = await runUnder({
      words: ['--status', `127.0.0.1:${port}`],
      before: (host) => {
        mkdirSync(join(host.folder, 'root/var/log/assisted-installer.log'), { recursive: true });
      },
      env: { BOOTWRIGHT_LOG_EVENTS: '/dev/null/events.jsonl' },
    });
    expect(end).toMatchObject({ exitCode: 0, status: 'installing-in-progress' });
    expect(end.log.match(/log\.not-opened/g)).toHaveLength(2);
    expect(end.log).toMatch(/serve\.address-not-taken.*EADDRINUSE/);
  });
});
