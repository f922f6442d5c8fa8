import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type SingleHost, singleIds } from '../../mocks/lab/single-host.ts';
import { BundleManifest } from '../../src/cli/documents.ts';
import { RunStatus } from '../../src/reporting/run-status.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { becomes, bundle, fullBut, hasWritten, openHost, startOn, token } from './faulty-run.ts';

const open = (): Promise<SingleHost> => openHost({ write: { seconds: 30, lineMillis: 50 } });

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

/** The environment of a user who logs in to the host: no settings of the agent, and no token. */
const ofStranger = ({ environment }: SingleHost): NodeJS.ProcessEnv => ({
  ...environment,
  PULL_SECRET_TOKEN: undefined,
});

const collect = (host: SingleHost, ...words: readonly string[]): Promise<Ended> =>
  run([process.execPath, bundle, 'logs', 'collect', ...words], ofStranger(host));

const installDir = (host: SingleHost): string => join(host.folder, 'root/opt/install-dir');

async function read(bytes: Uint8Array) {
  const files = await readArchive(bytes);
  return { files, manifest: BundleManifest.parse(JSON.parse(files.get('manifest.json') ?? '')) };
}

/** Makes an agent hang after it has written a part of the disk. */
async function hang(host: SingleHost) {
  const agent = startOn(host);
  await becomes(() => hasWritten(host));
  const text = readFileSync(join(installDir(host), 'status.json'), 'utf8');
  const { pid = 0 } = RunStatus.parse(JSON.parse(text)).process ?? {};
  process.kill(pid, 'SIGSTOP');
  return { ...agent, pid, [Symbol.dispose]: agent.kill };
}

describe('bootwright logs collect', () => {
  it('collects beside a hanging agent, with its settings and without its token', async () => {
    await using host = await open();
    using agent = await hang(host);
    const { pid } = agent;
    mkdirSync(join(host.folder, 'root/proc'), { recursive: true });
    writeFileSync(join(host.folder, 'root/proc/cmdline'), `x=${token}`);

    const { exitCode, stdout, stderr } = await collect(host);
    expect([exitCode, stderr]).toEqual([0, '']);
    const [, reported = ''] =
      /^wrote (.*)\nnext: bootwright logs read \1\n$/.exec(String(stdout)) ?? [];
    expect(reported).toMatch(/^\/opt\/install-dir\/logs-\d{8}T\d{6}Z\.tar\.gz$/);
    const path = join(host.folder, 'root', reported);
    const { files, manifest } = await read(readFileSync(path));
    expect(manifest).toMatchObject({
      role: 'master',
      host: singleIds.host,
      step: { id: 'image/write' },
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

  it('reports a full disk, and writes to standard output on a host without a run', async () => {
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
      const printed = await collect(host, '--output', '-');
      expect(printed.exitCode).toBe(0);
      const { files, manifest } = await read(printed.stdout);
      expect(manifest).toMatchObject({
        state: expect.stringMatching(/^of no run: .*status\.json is not there$/) as string,
        run: '',
      });
      expect(files.get('disks.json')).toContain('"blockdevices"');
    } finally {
      undo();
    }
  });
});
