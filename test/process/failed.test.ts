import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type AgentProcess, startAgent } from '../../mocks/lab/agent.ts';
import {
  openSingleHost,
  type SingleHost,
  type SingleHostPlan,
  singleIds,
} from '../../mocks/lab/single-host.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');

interface Fault {
  readonly plan?: Partial<SingleHostPlan>;
  readonly words?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Breaks the host or the service before the agent starts; may return what undoes it. */
  readonly before?: (host: SingleHost) => (() => void) | void;
  /** Happens beside the agent. */
  readonly beside?: (host: SingleHost, agent: AgentProcess) => Promise<void>;
}

/** Runs the built agent under a fault; resolves with how it ended and what the service made of it. */
async function runUnder({ plan = {}, words = [], env = {}, before, beside }: Fault) {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: true,
    write: { seconds: 0.3, flushSeconds: 0, lineMillis: 20 },
    token: 'token-of-the-test',
    ...plan,
  });
  const undo = before?.(host);
  const logFile = join(host.folder, 'agent.log');
  try {
    const agent = startAgent({
      ...{ bundle, logFile, args: [...host.words, ...words] },
      env: { ...host.environment, ...env },
    });
    await beside?.(host, agent);
    const { exitCode } = await agent.ended;
    const record = host.inventory.store.hosts().find(({ id }) => id === singleIds.host);
    const { status, statusInfo } = record ?? {};
    const ran = host.machine.ran.map(({ argv }) => argv[0]);
    return { exitCode, status, statusInfo, ran, log: readFileSync(logFile, 'utf8') };
  } finally {
    if (typeof undo === 'function') undo();
  }
}

const optOf = (host: SingleHost): string => join(host.folder, 'root/opt');
const writeIn = (host: SingleHost, path: string): void => {
  const file = join(host.folder, 'root', path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, 'in the way');
};

/** A file system that is full but for some KiB. */
function fullBut(host: SingleHost, kib: number): () => void {
  const opt = optOf(host);
  mkdirSync(opt, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', opt]);
  writeFileSync(join(opt, 'filler'), Buffer.alloc((256 - kib) * 1024));
  return () => execFileSync('umount', [opt]);
}

/** Runs a line of shell in the place of a command, before it; `$PPID` is the agent. */
function interpose({ nsenter }: SingleHost, command: string, line: string): void {
  renameSync(nsenter, `${nsenter}.real`);
  const script = `#!/bin/sh\ncase " $* " in *" -- ${command} "*) ${line};; esac\n`;
  writeFileSync(nsenter, `${script}exec ${nsenter}.real "$@"\n`, { mode: 0o755 });
}

async function becomes(what: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !what(); turn += 1) await pause(5);
  expect(what()).toBe(true);
}

const onceRan =
  (program: string): NonNullable<Fault['beside']> =>
  async ({ machine }, agent) => {
    await becomes(() => machine.ran.some(({ argv }) => argv[0] === program));
    agent.stop();
  };

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
  'an image that cannot be written': [
    4,
    'image.',
    { before: ({ machine }) => void (machine.writer.failsAtPercent = [10, 10, 10]) },
  ],
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
        NODE_OPTIONS:
          '--import "data:text/javascript,setTimeout(()=>{throw new Error(\'a bug\')},1500)"',
      },
      plan: { write: { seconds: 30, lineMillis: 100 } },
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
      plan: { write: { seconds: 3, lineMillis: 20 } },
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
  it.each(Object.entries({ ...startFaults, ...setUpFaults, ...stepFaults }))(
    'by %s',
    async (...[, fault]) => {
      const [exitCode, code, how] = fault;
      const end = await runUnder(how);
      expect(end).toMatchObject({ exitCode, status: 'error' });
      expect(end.statusInfo).toMatch(new RegExp(`^Failed - ${code}`));
      expect(end.log).toMatch(new RegExp(`^failed: ${code}`, 'm'));
    },
  );

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
    expect(end).toMatchObject({ exitCode: 4, status: 'installing-in-progress' });
    expect(end.log).toContain('failed: cli.already-running');
  });

  it('of a second agent whose command line is wrong', async () => {
    const end = await runUnder({ before: isTaken, words: ['--boot-devise', 'x'] });
    expect(end).toMatchObject({ exitCode: 2, status: 'installing' });
  });

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
