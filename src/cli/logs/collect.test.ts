import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeHost, fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { quickClock } from '../../../test/support/quick-clock.ts';
import { systemClock } from '../../adapters/clock.ts';
import { checkConfig, layersOver } from '../../config/load.ts';
import { readFlags } from '../../config/flags.ts';
import { engineFailure } from '../../engine/failures.ts';
import { secretsInIgnition } from '../../layering/registry/log-secrets.ts';
import { stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { readArchive } from '../../lib/archive.ts';
import { masker, secretValues } from '../../lib/masker.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import type { Clock } from '../../ports/clock.ts';
import { runHistoryOf } from '../../reporting/run-history.ts';
import { allRoles, chooseRole } from '../../roles/choose.ts';
import { lsblkArgv } from '../../steps/disk/block-devices.ts';
import { collectLogs } from './collect.ts';
import { BundleManifest } from '../documents.ts';
import { manifestFile } from './read.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bootwright-bundle-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const secrets = {
  token: 'planted-token-of-the-service',
  proxy: 'planted-password-of-the-proxy',
  registry: 'planted-password-of-a-registry',
  unknown: 'planted-in-a-field',
  bearer: 'planted-bearer-0123456789',
  header: 'planted-header-of-ignition',
  content: 'planted-content-of-ignition',
  key: 'cGxhbnRlZC1wcml2YXRlLWtleQ',
} as const;

/** The run has read this Ignition config, and it is no longer on the host. */
const ignition = JSON.stringify({
  ignition: {
    version: '3.4.0',
    config: {
      merge: [{ source: 'https://h/', httpHeaders: [{ name: 'X', value: secrets.header }] }],
    },
  },
  storage: {
    files: [{ path: '/etc/a', mode: 384, contents: { source: `data:,${secrets.content}` } }],
  },
});

const kernelLog = `I/O error, dev sda\nignition: token=${secrets.unknown} ${secrets.registry} GET X: ${secrets.header}, ${secrets.content}`;

const put = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

/** Collects logs on a host with its files below `root` and returns the files of the bundle. */
async function collect({
  signal = new AbortController().signal,
  clock = systemClock,
  host = fakeHost(),
  ran = 'worker',
}: Partial<{ signal: AbortSignal; clock: Clock; host: FakeHost; ran: string }> = {}) {
  const words = ['-r', 'worker', '--url', 'http://service:6008', '--host-id', 'h', '--host.root'];
  const proxy = `http://user:${secrets.proxy}@proxy:3128`;
  const flags = readFlags([...words, root, '--https-proxy', proxy]);
  const layers = layersOver([], flags, { PULL_SECRET_TOKEN: secrets.token });
  const loaded = { ...checkConfig(layers), notes: [], isFresh: false };
  host.on(['journalctl', '--no-pager', '--lines', '2000', '--dmesg']).prints(kernelLog);
  const known = masker();
  for (const secret of secretValues(loaded.config)) known.register(secret);
  for (const secret of secretsInIgnition(ignition)) known.register(secret);
  const path = await collectLogs({
    secrets: known,
    loaded,
    role: allRoles.find(({ name }) => name === ran) ?? chooseRole(loaded.config),
    signal,
    ports: { clock, host, inventory: fakeInventory() },
    history: runHistoryOf('r').read(),
    end: {
      failure: engineFailure('run.unexpected', `no ${secrets.token}`, {
        hint: `curl -H "Authorization: Bearer ${secrets.bearer}"`,
      }),
    },
  });
  const files = await readArchive(readFileSync(join(root, path)));
  const manifest = BundleManifest.parse(JSON.parse(files.get(manifestFile) ?? ''));
  const fileOf = (name: string) => manifest.files.find((file) => file.name === name);
  return { path, files, manifest, fileOf };
}

const journal = 'opt/install-dir/journal.jsonl';
const log = 'var/log/assisted-installer.log';

it('a bundle has the logs of the role that ran, whatever the settings say', async () => {
  const names = async (ran: string): Promise<readonly string[]> =>
    (await collect({ ran })).manifest.files.map(({ name }) => name);
  expect(await names('worker')).not.toContain('units.log');
  expect(await names('bootstrap')).toContain('units.log');
});

describe('the bundle of a failed run', () => {
  it('has the log of an image build', async () => {
    const path = `${stagingPlaces.scratch}/master/build.log`;
    const host = fakeHost().withFile(path, '');
    put(path, 'STEP 1/2');
    const { files, manifest } = await collect({ host });
    expect(files.get('master-build.log')).toContain('STEP 1/2');
    const logs = manifest.files.map(({ name }) => name).filter((name) => name.includes('build'));
    expect(logs).toEqual(['master-build.log']);
  });

  it('has no secrets of its sources', async () => {
    const { token, proxy, registry, unknown, bearer, key } = secrets;
    const auth = Buffer.from(`user:${registry}`).toString('base64');
    const pem = `-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----END RSA PRIVATE KEY-----`;
    const pullSecret = JSON.stringify({ auths: { 'quay.io': { auth } } });
    const host = fakeHost().withFile(PULL_SECRET_PATH, pullSecret);
    const header = { type: 'header', v: 1, role: 'worker', version: '0', fingerprint: 'f' };
    const fact = { password: unknown, list: [{ token }], text: `see ${auth}, ${registry}`, pem };
    const lines = [
      { ...header, bootId: 'b' },
      { type: 'finished', step: 'a/b', at: 1, fact },
      { msg: `Bearer ${bearer}`, url: `https://user:${proxy}@h/p` },
    ].map((line) => JSON.stringify(line));
    put(journal, `${lines.join('\n')}\n`);
    put('opt/install-dir/status.json', JSON.stringify({ reason: `token=${unknown}`, token }));
    put(log, `${lines.join('\n')}\nWARN password: ${unknown}\n${pem}\n{"half": "${auth}\n`);
    put('proc/cmdline', `rw inst=https://user:${unknown}@h/ token=${unknown}`);

    const { files, manifest } = await collect({ host });
    const missing = manifest.files.filter((file) => file.missing !== undefined);
    expect(missing.map(({ name }) => name)).toEqual(['disks.json', 'mounts.txt', 'processes.txt']);
    expect(files.get('kernel.log')).toContain('I/O error, dev sda');
    const all = [...files.values()].join('\n');
    for (const secret of [...Object.values(secrets), auth]) {
      expect(all).not.toContain(secret);
      expect(all).not.toContain(Buffer.from(secret).toString('base64').slice(0, -4));
    }
    const kept = files.get('journal.jsonl')?.trimEnd().split('\n') ?? [];
    expect(kept.map((line) => Object.keys(JSON.parse(line) as object))).toEqual([
      Object.keys({ ...header, bootId: 'b' }),
      ['type', 'step', 'at', 'fact'],
      ['msg', 'url'],
    ]);
  });

  it('lists what cannot be read and is readable for its owner only', async () => {
    put('elsewhere', 'x');
    put('proc/sys/kernel/hostname', 'm1\n');
    mkdirSync(join(root, dirname(journal)), { recursive: true });
    symlinkSync(join(root, 'elsewhere'), join(root, journal));
    const { path, files, manifest } = await collect();
    const missing = manifest.files.filter(({ name }) => !files.has(name));
    expect(missing.map(({ name }) => name)).toEqual([
      ...['journal.jsonl', 'status.json', 'kernel-arguments.txt', 'disks.json'],
      ...['mounts.txt', 'processes.txt', 'agent.log'],
    ]);
    expect(missing.every((file) => (file.missing ?? '') !== '')).toBe(true);
    expect(statSync(join(root, path)).mode & 0o777).toBe(0o600);
    expect(manifest).toMatchObject({ hostname: 'm1', restart: { kind: 'fresh' } });
  });

  it('is complete except for a command that hangs in the kernel', async () => {
    const host = fakeHost();
    host.on(lsblkArgv).answers(() => new Promise(() => undefined));
    const { files, fileOf } = await collect({ host, clock: quickClock() });
    expect(fileOf('disks.json')?.missing).toBe('not done within 6 s');
    expect(files.get('kernel.log')).toContain('I/O error, dev sda');
  });

  it('has the last lines of a long log', async () => {
    const line = `${'x'.repeat(99)}\n`;
    put(log, `the first line\n${line.repeat(60_000)}the last line\n`);
    const { files, fileOf } = await collect();
    const kept = files.get('agent.log') ?? '';
    expect(kept.length).toBeLessThan(2.1 * 2 ** 20);
    expect(kept.endsWith(`${line}the last line\n`)).toBe(true);
    expect(kept).not.toContain('the first line');
    expect(fileOf('agent.log')?.of).toBe(6_000_029);
  });

  it('is created even if the run has been aborted', async () => {
    const { files } = await collect({ signal: AbortSignal.abort(new Error('a bug')) });
    expect([...files.keys()]).toContain('config.txt');
  });

  it('leaves no file when it cannot be written', async () => {
    put('opt/install-dir', 'in the way');
    await expect(collect()).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(readdirSync(join(root, 'opt'))).toEqual(['install-dir']);
  });
});
