import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHost, singleIds } from '../../mocks/lab/single-host.ts';
import { BundleManifest } from '../../src/cli/documents.ts';
import { StatusDocument } from '../../src/cli/status.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { becomes, bundle, fullBut, hasWritten } from './faulty-run.ts';

const token = 'token-of-the-test';

const open = (): Promise<SingleHost> =>
  openSingleHost({
    ...{ role: 'master', isControlPlaneDone: true, token },
    write: { seconds: 30, lineMillis: 50 },
  });

interface Ended {
  readonly exitCode: unknown;
  readonly stdout: Buffer;
  readonly stderr: string;
}

const run = (argv: readonly string[], env: NodeJS.ProcessEnv, cwd = tmpdir()): Promise<Ended> =>
  new Promise((resolve) => {
    const [program = '', ...words] = argv;
    execFile(program, words, { env, cwd, encoding: 'buffer' }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : error.code, stdout, stderr: stderr.toString() });
    });
  });

/** Somebody who logs in to the host has none of the settings of the agent, and not its token. */
const ofStranger = ({ environment }: SingleHost): NodeJS.ProcessEnv => ({
  ...{ ...environment, PULL_SECRET_TOKEN: undefined },
});

const collect = (host: SingleHost, ...words: readonly string[]): Promise<Ended> =>
  run([process.execPath, bundle, 'logs', 'collect', ...words], ofStranger(host));

const installDir = (host: SingleHost): string => join(host.folder, 'root/opt/install-dir');

async function read(bytes: Uint8Array) {
  const files = await readArchive(bytes);
  return { files, manifest: BundleManifest.parse(JSON.parse(files.get('manifest.json') ?? '')) };
}

/** An agent that hangs: it has written a part of the disk, and does not move any more. */
async function hang(host: SingleHost) {
  const logFile = join(host.folder, 'agent.log');
  const agent = startAgent({ bundle, logFile, args: host.words, env: host.environment });
  await becomes(() => hasWritten(host));
  const text = readFileSync(join(installDir(host), 'status.json'), 'utf8');
  const { pid = 0 } = StatusDocument.shape.status.parse(JSON.parse(text)).process ?? {};
  process.kill(pid, 'SIGSTOP');
  return { ...agent, pid, [Symbol.dispose]: agent.kill };
}

describe('bootwright logs collect', () => {
  it('collects beside an agent that hangs, which continues, and knows its settings and its token', async () => {
    await using host = await open();
    using agent = await hang(host);
    const { pid } = agent;
    mkdirSync(join(host.folder, 'root/proc'), { recursive: true });
    writeFileSync(join(host.folder, 'root/proc/cmdline'), `x=${token}`);

    const { exitCode, stdout, stderr } = await collect(host);
    expect([exitCode, stderr]).toEqual([0, '']);
    const [, path = ''] =
      /^wrote (.*)\nnext: bootwright logs read \1\n$/.exec(String(stdout)) ?? [];
    expect(path).toMatch(/\/opt\/install-dir\/logs-\d{8}T\d{6}Z\.tar\.gz$/);
    const { files, manifest } = await read(readFileSync(path));
    expect(manifest).toMatchObject({
      ...{ role: 'master', host: singleIds.host, step: { id: 'image/write' } },
      state: expect.stringMatching(`^running for .*, process ${pid}, `) as string,
      restart: { kind: 'resume' },
    });
    expect(manifest.failure).toBeUndefined();
    expect(files.get('config.txt')).toMatch(/^service\.token = \*\*\* +\(/m);
    expect(files.get('plan.txt')).toMatch(/^running +image\/write: /m);
    expect(files.get('kernel-arguments.txt')).toBe('x=***');
    for (const text of files.values()) expect(text).not.toContain(token);
    const shown = await run([process.execPath, bundle, 'logs', 'read', path], process.env);
    expect(String(shown.stdout)).toMatch(/\ncollected .*Z: running for .*\nin image\/write, /);

    host.machine.writer.seconds = 1;
    process.kill(pid, 'SIGCONT');
    expect((await agent.ended).exitCode).toBe(0);
    expect(readdirSync(installDir(host)).filter((name) => name.startsWith('bundle-'))).toEqual([]);
  });

  it('collects where no agent has run, and says so', async () => {
    await using host = await open();
    const { exitCode, stdout } = await collect(host, '--output', '-');
    expect(exitCode).toBe(0);
    const { files, manifest } = await read(stdout);
    expect(manifest).toMatchObject({
      ...{
        state: expect.stringMatching(/^of no run: .*status\.json is not there$/) as string,
        run: '',
      },
    });
    expect(files.get('disks.json')).toContain('"blockdevices"');
    expect(existsSync(installDir(host))).toBe(false);
  });

  it('ends in three lines on a full disk, and writes to standard output there', async () => {
    await using host = await open();
    const undo = fullBut(host, 0);
    try {
      const { exitCode, stdout, stderr } = await collect(host);
      expect([exitCode, String(stdout)]).toEqual([4, '']);
      expect(stderr).toMatch(
        /^failed: cli\.bundle-not-written: .*logs-.*\nwhy: .*ENOSPC.*\nnext: .*--output.*\n$/,
      );
      const path = join(host.folder, 'root/opt/own.tar.gz');
      expect((await collect(host, '--output', path)).exitCode).toBe(4);
      expect(existsSync(path)).toBe(false);
      expect((await collect(host, '--output', '-')).exitCode).toBe(0);
    } finally {
      undo();
    }
  });
});

/** What a host has that is reached by ssh: sudo, and a podman that has the image of the agent. */
const programs = (host: SingleHost, failed: SingleHost): Readonly<Record<string, string>> => ({
  sudo: '[ "$1" = -n ] && shift; exec "$@"',
  podman: `echo "$*" >> ${join(host.folder, 'podman.log')}
case "$1:$SSH_CONNECTION" in
  images:*127.0.0.2*) exit 0;;
  run:*127.0.0.3*) printf '\\037\\213 no archive'; exit 0;;
  images:*) echo 0123456789ab; exit 0;;
esac
while [ "$1" != 0123456789ab ]; do shift; done
shift
root=${join(host.folder, 'root')}
case "$SSH_CONNECTION" in *127.0.0.5*) root=${join(failed.folder, 'root')};; esac
BOOTWRIGHT_HOST_ROOT=$root exec ${process.execPath} ${bundle} "$@"`,
});

/** A machine of its own as far as ssh goes: loopback, users and their shells, and a server that listens on these addresses. */
function sshMachine(
  host: SingleHost,
  failed: SingleHost,
): { readonly folder: string; readonly enter: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-ssh-'));
  const place = (name: string, text: string, mode = 0o600): string => {
    mkdirSync(join(folder, name, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, name), text, { mode });
    return join(folder, name);
  };
  for (const [name, text] of Object.entries(programs(host, failed)))
    place(`bin/${name}`, `#!/bin/sh\n${text}\n`, 0o755);
  const path = `${join(folder, 'bin')}:${host.environment.PATH}`;
  const shell = place('shell', `#!/bin/sh\nexport PATH=${path}\nexec /bin/sh "$@"\n`, 0o755);
  const home = join(folder, 'home');
  const passwd = `root:x:0:0::${join(folder, 'none')}:/bin/sh\ncore:x:0:0::${home}:${shell}\n`;
  place('passwd', passwd, 0o644);
  place('shells', `${shell}\n`, 0o644);
  place('hosts', '127.0.0.1 m1\n127.0.0.5 m2\n', 0o644);
  const key = place('.ssh/id_ed25519', '');
  rmSync(key);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  place('home/.ssh/authorized_keys', readFileSync(`${key}.pub`, 'utf8'));
  execFileSync('dropbearkey', ['-t', 'ed25519', '-f', join(folder, 'host.key')], {
    stdio: 'ignore',
  });
  const ports = [1, 2, 3, 5].flatMap((last) => ['-p', `127.0.0.${last}:22`]).join(' ');
  const script = `cd ${folder}
for name in passwd shells hosts; do mount --bind $name /etc/$name || exit 99; done
ip link set lo up && ip route add unreachable 192.0.2.7 || exit 99
dropbear -F -s -r host.key ${ports} 2>dropbear.log & server=$!
until grep -q :0016 /proc/net/tcp; do sleep 0.05; done
cd "$OLDPWD"; "$@"; code=$?; kill $server; exit $code`;
  const enter = [
    'unshare',
    '--mount',
    '--net',
    '--propagation',
    'private',
    'sh',
    '-c',
    script,
    'sh',
  ];
  return { folder, enter };
}

it('collects from hosts over ssh into a file for each, and names those that it could not', async () => {
  await using host = await open();
  await using busy = await openSingleHost({
    ...{ role: 'master', isControlPlaneDone: true, token, write: { seconds: 1 } },
    disks: [{ name: 'sda', leftovers: 'mounted' }],
  });
  const logFile = join(busy.folder, 'agent.log');
  await startAgent({ bundle, logFile, args: busy.words, env: busy.environment }).ended;
  using _ = await hang(host);
  const { folder, enter } = sshMachine(host, busy);
  try {
    const words = ['logs', 'collect', '--ssh-key', '.ssh/id_ed25519', '--hosts'];
    const over = (hosts: string, ...more: readonly string[]): Promise<Ended> =>
      run([...enter, process.execPath, bundle, ...words, hosts, ...more], process.env, folder);
    const { exitCode, stdout, stderr } = await over('127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4');
    const lines = String(stdout).trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(
        /^127\.0\.0\.1 {2}logs-127\.0\.0\.1-\S+Z\.tar\.gz {2}master, running for /,
      ),
      '127.0.0.2  not collected: podman has no image of Bootwright on this host: give --image',
      '127.0.0.3  not collected: it sent no bundle of logs',
      expect.stringMatching(
        /^127\.0\.0\.4 {2}not collected: ssh: connect to host .*: Connection refused/,
      ),
      expect.stringMatching(/^next: bootwright logs read logs-127\.0\.0\.1-\S+$/),
    ]);
    expect(exitCode).toBe(5);
    expect(stderr).toMatch(
      /^failed: cli\.logs-not-collected: no logs of 3 of 4 hosts: 127\.0\.0\.2, 127\.0\.0\.3, 127\.0\.0\.4$/m,
    );
    const files = readdirSync(folder).filter((name) => name.startsWith('logs-'));
    expect(files).toHaveLength(1);
    const { manifest } = await read(readFileSync(join(folder, files[0] ?? '')));
    expect(manifest).toMatchObject({ host: singleIds.host, step: { id: 'image/write' } });
    expect(readdirSync(installDir(host)).filter((name) => name.startsWith('logs-'))).toEqual([]);
    const ran = readFileSync(join(host.folder, 'podman.log'), 'utf8');
    expect(ran).toMatch(
      /^run --rm --pull=never --privileged --pid=host --net=host --log-driver=none /m,
    );
    expect(ran).toMatch(/ -v \/opt:\/opt:ro .* 0123456789ab logs collect --output -$/m);

    writeFileSync(join(folder, 'known'), '');
    const strict = await over('127.0.0.1', '--known-hosts', 'known');
    expect(String(strict.stdout)).toMatch(
      /^127\.0\.0\.1 {2}not collected: .*Host key verification failed/,
    );
    expect(strict.exitCode).toBe(5);

    const environment = { HOME: folder, XDG_CACHE_HOME: join(homedir(), '.cache') };
    const shell = [...enter, 'sh', '-eu', '-c'];
    await followGuide('when-it-hangs.md', environment, { suite: 'process', shell });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
