// A container that shares only --pid=host with its host. The real program runs in its own
// namespaces, between a host with files and a container without them.
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ObjectStore, startObjectStore } from '../../mocks/objects/server.ts';
import { createLoopDisk, type LoopDisk, readDisk } from '../installer/loop-disk.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');

/** The folders that the host and the container each have. */
const own = ['opt', 'var/log', 'srv', 'run', 'usr/local/sbin'];

const mounts = own.map((path) => `mount --bind "$1/${path}" "/${path}"`).join('\n');

/**
 * Shell scripts: `$1` is the host's folder, `$2` the container's. Process 1 belongs to the host, or
 * becomes the program itself.
 */
const starts = {
  'with --pid=host': `set -e
${mounts}
shift
unshare --mount --net sh -ec '${mounts}
shift; exec "$@"' sh "$@" &
wait $!`,
  'without --pid=host': `set -e
shift
${mounts}
shift; exec "$@"`,
};

interface ProgramEnd {
  readonly exitCode: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;
const onHost = (path: string): string => join(folder, 'host', path);
const put = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(onHost(path)), { recursive: true });
  writeFileSync(onHost(path), text, { mode });
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-root-'));
  for (const path of own)
    for (const side of ['host', 'container'])
      mkdirSync(join(folder, side, path), { recursive: true });
  mkdirSync(onHost('run/lock'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the program in these namespaces; a stop of the test ends it with all its children. */
async function run(
  how: keyof typeof starts,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramEnd> {
  const sides = [join(folder, 'host'), join(folder, 'container')];
  const argv = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--', 'sh', '-c'];
  const line = [...argv, starts[how], 'sh', ...sides, process.execPath, bundle, ...words];
  const options = {
    env: { PATH: '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin', ...env },
    timeout: 600_000,
  };
  return promisify(execFile)('unshare', line, options).then(
    (end) => ({ ...end, exitCode: 0 }),
    (thrown: unknown) => {
      const { code, stdout, stderr } = thrown as Readonly<Record<'stdout' | 'stderr', string>> & {
        readonly code: unknown;
      };
      return { exitCode: code, stdout, stderr };
    },
  );
}

/** Files left in the container's own folders. */
const leftInContainer = (): readonly string[] =>
  readdirSync(join(folder, 'container'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe('a worker with four variables and no mounts', () => {
  let disk: LoopDisk;
  let objects: ObjectStore;
  beforeEach(async () => {
    disk = createLoopDisk(join(folder, 'disk'), 32 * 1024);
    objects = await startObjectStore();
    objects.put('clusters', 'c1/worker.ign', '{"ignition":{"version":"3.2.0"}}');
    // As the real coreos-installer does, reads the one path and writes the other.
    put(
      'usr/local/sbin/coreos-installer',
      `#!/bin/sh -e
case $1 in --version) echo coreos-installer 0.26.0; exit;; esac
while [ "$1" != -i ]; do shift; done
dd if="$2" of="$3" conv=fsync status=none`,
      0o755,
    );
    put('usr/local/sbin/shutdown', '#!/bin/sh\necho "$*" > /srv/shutdown', 0o755);
  });
  afterEach(async () => {
    await objects.close();
    disk[Symbol.dispose]();
  });

  const variables = () => ({
    CLUSTER_ID: 'c1',
    BUCKET: 'clusters',
    S3_URL: objects.url,
    DEVICE: disk.device,
  });

  it('is installed with its files on the host', async () => {
    const { exitCode, stdout, stderr } = await run(
      'with --pid=host',
      ['-r', 'worker'],
      variables(),
    );
    expect({ exitCode, log: exitCode === 0 ? '' : stdout + stderr }).toEqual({
      exitCode: 0,
      log: '',
    });
    expect(readDisk(disk.path, 0, 32).toString()).toBe('{"ignition":{"version":"3.2.0"}}');
    expect(readFileSync(onHost('srv/shutdown'), 'utf8')).toMatch(/^-r /);
    expect(readdirSync(onHost('opt/install-dir')).sort()).toEqual([
      'journal.jsonl',
      'status.json',
      'worker.ign',
    ]);
    expect(readFileSync(onHost('var/log/assisted-installer.log'), 'utf8')).toContain('Rebooting');
    expect(leftInContainer()).toEqual([]);
    const status = await run('with --pid=host', ['status', '-r', 'worker']);
    expect(status.stdout).toMatch(/^worker, .*: left the host/);
  });

  it('is refused without --pid=host before any change', async () => {
    const { exitCode, stderr } = await run('without --pid=host', ['-r', 'worker'], variables());
    expect(exitCode).toBe(2);
    expect(stderr).toContain('host.not-seen');
    expect(stderr).toContain('--pid=host');
    expect(objects.requests).toEqual([]);
    expect(readdirSync(join(folder, 'host/opt'))).toEqual([]);
    expect(leftInContainer()).toEqual([]);
  });
});

describe('a command in a container with its own network', () => {
  it('sends requests from the network of the host: doctor', async () => {
    const objects = await startObjectStore();
    objects.put('clusters', 'c1/worker.ign', '{"ignition":{"version":"3.2.0"}}');
    const variables = { CLUSTER_ID: 'c1', BUCKET: 'clusters', DEVICE: '/dev/vda' };
    try {
      const { stdout } = await run('with --pid=host', ['doctor', '-r', 'worker'], {
        ...variables,
        S3_URL: objects.url,
      });
      expect(stdout).toMatch(/^✓ Ignition /m);
    } finally {
      await objects.close();
    }
  });

  it('runs the programs of the host in its network: node rollback', async () => {
    for (const name of ['bootc', 'rpm-ostree'])
      put(`usr/local/sbin/${name}`, '#!/bin/sh\nreadlink /proc/self/ns/net > /srv/network', 0o755);
    await run('with --pid=host', ['node', 'rollback']);
    expect(readFileSync(onHost('srv/network'), 'utf8').trim()).toBe(
      readlinkSync('/proc/self/ns/net'),
    );
  });
});

describe('a configuration file', () => {
  const settings = (bucket: string): string =>
    `role: worker\ndisk: {device: /dev/vda}\ncluster: {id: c1}\ns3: {endpoint: http://s3, bucket: ${bucket}}\n`;

  it('falls back to the host, along its symlinks, if the container has none', async () => {
    put('srv/kept/worker.yaml', settings('of-the-host'));
    symlinkSync('/srv/kept', onHost('opt/link'));
    const words = ['plan', '--config', '/opt/link/worker.yaml'];
    const { exitCode, stdout } = await run('with --pid=host', words);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('of-the-host')]);
  });

  it('is read from the container if it is mounted there', async () => {
    put('srv/worker.yaml', settings('of-the-host'));
    writeFileSync(join(folder, 'container/srv/worker.yaml'), settings('of-the-container'));
    const { stdout } = await run('with --pid=host', ['plan', '--config', '/srv/worker.yaml']);
    expect(stdout).toContain('of-the-container');
  });

  it('leads to host.not-seen in a container without --pid=host', async () => {
    put('srv/worker.yaml', settings('of-the-host'));
    const words = ['install', '--config', '/srv/worker.yaml'];
    const { exitCode, stderr } = await run('without --pid=host', words);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/^failed: host\.not-seen:/)]);
  });
});

describe('a container without --pid=host', () => {
  const words = ['-r', 'worker', '--boot-device', '/dev/vda', '--ignition.url', 'http://h/w.ign'];

  it('is reported by doctor', async () => {
    const { exitCode, stdout } = await run('without --pid=host', ['doctor', ...words]);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/^✗ system +host\.not-seen: .*\n(?: .*\n)* +→ .*--pid=host/m);
  });

  it('is warned about by plan, which still prints the plan', async () => {
    writeFileSync(join(folder, 'container/run/.containerenv'), '');
    const unseen = await run('without --pid=host', ['plan', ...words]);
    expect([unseen.exitCode, unseen.stdout]).toEqual([0, expect.stringContaining('Role worker')]);
    expect(unseen.stderr).toMatch(/^warning: .*host\.not-seen.*--pid=host/);
    const seen = await run('with --pid=host', ['plan', ...words]);
    expect([seen.exitCode, seen.stderr]).toEqual([0, '']);
  });

  it.each([
    ['wipe', '--disk', '/dev/loop0'],
    ['status'],
    ['logs', 'collect'],
    ['node', 'rollback'],
  ])('is refused by %s', async (...command) => {
    const { exitCode, stderr } = await run('without --pid=host', command);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/host\.not-seen/)]);
  });
});
