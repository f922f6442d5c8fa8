import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { singleIds } from '../../mocks/lab/single-host.ts';
import type { BundleDocument } from '../../src/cli/documents.ts';
import { readArchive } from '../../src/lib/archive.ts';
import {
  bundle,
  interpose,
  logOf,
  openHost,
  startOn,
  token,
  unpublishedEvents,
} from './faulty-run.ts';

const proxyPassword = 'password-of-the-proxy';
const toolPassword = 'password-of-a-tool';

async function logsRead(path: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[bundle, 'logs', 'read', path],
    ...words,
  ]);
  return stdout;
}

it('keeps readable logs of a failed install without secrets, after the report to the service', async () => {
  await using host = await openHost();
  interpose(host, 'coreos-installer', `echo "password=${toolPassword} ${token}" >&2; exit 1`);
  const folder = join(host.folder, 'root/opt/install-dir');
  mkdirSync(folder, { recursive: true });
  const older = [1, 2, 3, 4].map((day) => `bundle-2020010${day}T000000Z.tar.gz`);
  for (const name of older) writeFileSync(join(folder, name), '');

  const proxy = `http://user:${proxyPassword}@127.0.0.1:9`;
  const events = join(host.folder, 'events.jsonl');
  const args = ['--https-proxy', proxy, '--events', events];
  const { exitCode } = await startOn(host, { args }).ended;
  const log = logOf(host);
  expect(exitCode).toBe(4);
  expect(unpublishedEvents(readFileSync(events, 'utf8'))).toEqual([]);
  expect(readFileSync(events, 'utf8')).toMatch(/"step\.failed"[^]*"run\.failed"/);
  const record = host.inventory.store.hosts().find(({ id }) => id === singleIds.host);
  expect(record?.statusInfo).toMatch(/^Failed - image\./);
  const reset = `clusters/${singleIds.cluster}/actions/reset`;
  expect(log).toMatch(
    new RegExp(`^next: .*; then reset the cluster .*/${reset}\\), boot its hosts`, 'm'),
  );
  const reported = log.trimEnd().split('\n').at(-1)?.replace('logs: ', '') ?? '';
  const path = join(host.folder, 'root', reported);
  const kept = readdirSync(folder).filter((name) => name.startsWith('bundle-'));
  expect(kept.sort()).toEqual([...older.slice(2), path.split('/').at(-1)]);
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
  // The log is read last, so it already has the report.
  expect(files.get('agent.log')).toMatch(/"stage":"Failed".*"stage reported"/);

  const found = JSON.parse(await logsRead(path, '--format', 'json')) as BundleDocument;
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
