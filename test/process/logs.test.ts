import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { openSingleHost, type SingleHost, singleIds } from '../../mocks/lab/single-host.ts';
import { BundleDocument } from '../../src/cli/documents.ts';
import { readArchive } from '../../src/lib/archive.ts';
import { bundle, fullBut, interpose, onceRan, runUnder, writeIn } from './faulty-run.ts';

const token = 'token-of-the-test';
const proxyPassword = 'password-of-the-proxy';
const toolPassword = 'password-of-a-tool';

const open = (): Promise<SingleHost> =>
  openSingleHost({ role: 'master', isControlPlaneDone: true, write: { seconds: 0.3 }, token });

/** Runs the agent on a host; resolves with its exit code and what it has printed. */
async function run(host: SingleHost): Promise<{ exitCode: unknown; log: string }> {
  const logFile = join(host.folder, 'agent.log');
  const proxy = `http://user:${proxyPassword}@127.0.0.1:9`;
  const args = [...host.words, '--https-proxy', proxy];
  const { exitCode } = await startAgent({ bundle, logFile, args, env: host.environment }).ended;
  return { exitCode, log: readFileSync(logFile, 'utf8') };
}

const bundlesOf = (host: SingleHost): readonly string[] =>
  readdirSync(join(host.folder, 'root/opt/install-dir'))
    .filter((name) => name.startsWith('bundle-'))
    .sort();

async function logsRead(path: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[bundle, 'logs', 'read', path],
    ...words,
  ]);
  return stdout;
}

describe('the logs of a failed install', () => {
  it('are left after the service heard of it, without a secret, and can be read', async () => {
    await using host = await open();
    interpose(host, 'coreos-installer', `echo "password=${toolPassword} ${token}" >&2; exit 1`);
    const folder = join(host.folder, 'root/opt/install-dir');
    mkdirSync(folder, { recursive: true });
    const older = [1, 2, 3, 4].map((day) => `bundle-2020010${day}T000000Z.tar.gz`);
    for (const name of older) writeFileSync(join(folder, name), '');

    const { exitCode, log } = await run(host);
    expect(exitCode).toBe(4);
    const record = host.inventory.store.hosts().find(({ id }) => id === singleIds.host);
    expect(record?.statusInfo).toMatch(/^Failed - image\./);
    const reported = log.trimEnd().split('\n').at(-1)?.replace('logs: ', '') ?? '';
    const path = join(host.folder, 'root', reported);
    const kept = bundlesOf(host);
    expect(kept).toEqual([...older.slice(2), path.split('/').at(-1)]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);

    const files = await readArchive(readFileSync(path));
    for (const text of files.values())
      for (const secret of [token, proxyPassword, toolPassword]) expect(text).not.toContain(secret);
    expect(files.get('journal.jsonl')).toMatch(/"type":"failed",.*"step":"image\/write"/);
    expect(files.get('plan.txt')).toMatch(/^finished +disk\/resolve: .*\n/m);
    expect(files.get('plan.txt')).toMatch(/^failed +image\/write: .* image\./m);
    expect(files.get('plan.txt')).toMatch(/^not reached +finish\//m);
    expect(files.get('config.txt')).toMatch(/^service\.token = \*\*\* +\(/m);
    expect(files.get('host.txt')).toContain('coreos-installer');
    expect(files.get('disks.json')).toContain('"blockdevices"');
    expect(files.get('kernel.log')).toMatch(/./);
    expect([...files.keys()]).not.toContain('units.log');
    // What is read last has the report already.
    expect(files.get('agent.log')).toMatch(/"stage":"Failed".*"stage reported"/);

    const found = BundleDocument.parse(JSON.parse(await logsRead(path, '--format', 'json')));
    expect(found).toMatchObject({
      role: 'master',
      host: singleIds.host,
      failure: { kind: 'host' },
      step: { id: 'image/write', attempts: 3 },
      restart: { kind: 'resume', next: [{ id: 'image/write' }] },
    });
    expect(found.failure?.code).toMatch(/^image\./);
    expect((await logsRead(path)).trimEnd().split('\n').length).toBeLessThanOrEqual(10);
  });

  it('are not left by an install that ends well', async () => {
    await using host = await open();
    expect((await run(host)).exitCode).toBe(0);
    expect(bundlesOf(host)).toEqual([]);
  });

  it('are not left by a stop, which gives five seconds', async () => {
    await using host = await open();
    host.machine.writer.seconds = 30;
    const logFile = join(host.folder, 'agent.log');
    const agent = startAgent({ bundle, logFile, args: host.words, env: host.environment });
    await onceRan('coreos-installer')(host, agent);
    expect((await agent.ended).exitCode).toBe(143);
    expect(bundlesOf(host)).toEqual([]);
  });

  it.each([
    ['a folder that is none', (host: SingleHost) => writeIn(host, 'opt/install-dir')],
    ['a full disk', (host: SingleHost) => fullBut(host, 0)],
  ])('cost nothing but a warning on %s', async (_, before) => {
    const end = await runUnder({ before });
    expect(end).toMatchObject({ exitCode: 4, status: 'error' });
    expect(end.statusInfo).toMatch(/^Failed - journal\.not-kept/);
    expect(end.log).toMatch(/"level":"warn".*"step":"logs\/collect"/);
    expect(end.log).not.toMatch(/^logs: /m);
  });
});
