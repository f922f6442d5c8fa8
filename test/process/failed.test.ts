import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SingleHost } from '../../mocks/lab/single-host.ts';
import {
  becomes,
  bundle,
  cannotWrite,
  type Fault,
  fullBut,
  fullFrom,
  imports,
  interpose,
  onceRan,
  readOnly,
  runUnder,
  writeIn,
} from './faulty-run.ts';

/** A bug in a source file, as it comes up when a stage is looked for. */
const faultIn = (path: string): string => `
  const { indexOf } = Array.prototype;
  Array.prototype.indexOf = function (what) {
    const fault = new Error('a bug');
    if (what === 'Writing image to disk' && fault.stack.includes('${path}')) throw fault;
    return indexOf.apply(this, arguments);
  }`;

const startFaults: Readonly<Record<string, readonly [number, string, Fault]>> = {
  'a flag that does not exist': [2, 'cli.unknown-flag', { words: ['--boot-devise', 'x'] }],
  'a variable that does not exist': [
    2,
    'config.unknown-variable',
    { env: { BOOTWRIGHT_ROEL: 'worker' } },
  ],
  'certificates that are not there': [
    2,
    'config.file-not-read',
    { words: ['--cacert', '/does/not/exist'] },
  ],
  'certificates that are none': [2, 'web.bad-authority', { words: ['--cacert', bundle] }],
};

const setUpFaults: Readonly<Record<string, readonly [number, string, Fault]>> = {
  'a lock that cannot be taken': [
    4,
    'command.failed',
    { before: (host) => interpose(host, 'flock', 'exit 3') },
  ],
  'an id of the boot that cannot be read': [
    4,
    'file.not-read',
    {
      before: (host) => {
        const path = join(host.folder, 'root/proc/sys/kernel/random/boot_id');
        rmSync(path);
        mkdirSync(path);
      },
    },
  ],
  'a journal that cannot be made': [
    4,
    'journal.not-kept',
    { before: (host) => writeIn(host, 'opt/install-dir') },
  ],
  'a journal on a full disk': [4, 'journal.not-kept', { before: (host) => fullBut(host, 0) }],
  'a journal on a read-only disk': [4, 'journal.not-kept: .*: EROFS', { before: readOnly }],
};

const stepFaults: Readonly<Record<string, readonly [number, string, Fault]>> = {
  'a disk that is not there': [2, 'disk.missing', { words: ['--boot-device', '/dev/sdz'] }],
  'an Ignition that the service refuses': [
    5,
    'inventory.refused',
    {
      before: ({ inventory }) =>
        inventory.faults.add({ kind: 'status', status: 409, on: 'downloads/ignition' }),
    },
  ],
  'an image that cannot be written': [4, 'image.', { before: cannotWrite }],
  'a disk that is not there, to a service that is ill when it hears of it': [
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
  'a full disk in the middle': [4, 'file.not-written', { before: (host) => fullBut(host, 4) }],
  'an image that cannot be written, on a disk that is full by then': [
    4,
    'image.',
    { before: (host) => fullFrom(host, 'coreos-installer', 'exit 1') },
  ],
  'a disk that is full by the time at which the image is written': [
    4,
    'journal.not-kept',
    { before: (host) => fullFrom(host, 'coreos-installer', ':') },
  ],
  'an image that cannot be written, after a fault in what reads the events': [
    4,
    'image.',
    {
      env: { NODE_OPTIONS: imports(faultIn('reporting/ladder')) },
      before: cannotWrite,
    },
  ],
  'a reboot that fails': [
    4,
    'command.failed',
    { before: (host) => interpose(host, 'shutdown', 'exit 1') },
  ],
  'an error that nobody caught': [
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
};

const stops: Readonly<Record<string, readonly [number, string, Fault]>> = {
  'while it loads': [
    143,
    'run.stopped',
    {
      beside: async ({ inventory }, agent) => {
        await becomes(() => inventory.requests.length > 0);
        agent.stop();
      },
    },
  ],
  'while the lock is taken': [
    143,
    'run.stopped',
    { before: (host) => interpose(host, 'flock', 'kill -TERM $PPID; sleep 0.2') },
  ],
  'while the image is written': [
    143,
    'run.stopped',
    { plan: { write: { seconds: 30, lineMillis: 100 } }, beside: onceRan('coreos-installer') },
  ],
  'while the image is written, by a service that takes its time': [
    143,
    'run.stopped',
    {
      plan: { write: { seconds: 30, lineMillis: 100 } },
      before: ({ inventory }) =>
        inventory.faults.add({ kind: 'slow', delaySeconds: 0.7, on: 'progress' }),
      beside: onceRan('coreos-installer'),
    },
  ],
  'while a worker waits': [
    143,
    'run.stopped',
    {
      plan: { role: 'worker', isControlPlaneDone: false },
      beside: async ({ inventory }, agent) => {
        await becomes(() => inventory.requests.some(({ path }) => path.includes('role=master')));
        agent.stop();
      },
    },
  ],
  'while the logs of a failure are gathered': [
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

describe('the service hears Failed before the agent ends', () => {
  it.each(Object.entries({ ...setUpFaults, ...stepFaults }))('by %s', async (...[, fault]) => {
    const [exitCode, code, how] = fault;
    const end = await runUnder(how);
    expect(end).toMatchObject({ exitCode, status: 'error' });
    expect(end.statusInfo).toMatch(new RegExp(`^Failed - ${code}`));
    expect(end.log).toMatch(new RegExp(`^failed: ${code}`, 'm'));
  });

  it.each(Object.entries(stops))('by a stop %s', async (...[, fault]) => {
    const [exitCode, code, how] = fault;
    const end = await runUnder(how);
    expect(end).toMatchObject({ exitCode, status: 'error' });
    expect(end.statusInfo).toMatch(new RegExp(`^Failed - ${code}`));
  });
});

describe('the service hears no Failed', () => {
  const isTaken = ({ machine }: SingleHost): void => {
    machine.locks.add('/run/lock/bootwright-agent');
  };

  it('of a second agent on a host that is being installed', async () => {
    const end = await runUnder({ before: isTaken });
    expect(end).toMatchObject({ exitCode: 4, status: 'installing' });
    expect(end.log).toContain('failed: cli.already-running');
  });

  it.each(Object.entries(startFaults))(
    'of %s; the agent ends at once and says why',
    async (...[, [exitCode, code, how]]) => {
      const end = await runUnder(how);
      expect(end).toMatchObject({ exitCode, status: 'installing' });
      expect(end.log).toContain(`failed: ${code}`);
    },
  );

  it('of a stop by the reboot that the agent has asked for', async () => {
    const end = await runUnder({
      before: (host) => interpose(host, 'shutdown', 'kill -TERM $PPID; sleep 0.3'),
    });
    expect(end).toMatchObject({ exitCode: 0, status: 'installing-in-progress' });
    expect(end.ran).toContain('shutdown');
  });

  it('of a log file that cannot be opened; that is a warning', async () => {
    const end = await runUnder({
      before: (host) => {
        mkdirSync(join(host.folder, 'root/var/log/assisted-installer.log'), { recursive: true });
      },
      env: { BOOTWRIGHT_LOG_EVENTS: '/dev/null/events.jsonl' },
    });
    expect(end).toMatchObject({ exitCode: 0, status: 'installing-in-progress' });
    expect(end.log.match(/log\.not-opened/g)).toHaveLength(2);
  });
});
