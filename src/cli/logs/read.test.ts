import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { minutes } from '../../model/duration.ts';
import { bootwright } from '../program/commands.ts';
import { type BundleDocument, BundleManifest } from '../documents.ts';
import { renderBundle } from './read.ts';

let folder = '';
let printed = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-read-'));
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => (printed += String(text)) !== '');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const manifest = {
  v: 1,
  version: '0.1.0',
  run: 'r',
  role: 'master',
  host: 'h',
  hostname: 'm1',
  cluster: 'c',
  since: 0,
  ended: minutes(5),
  failure: {
    code: 'wait.timed-out',
    kind: 'limit',
    message: 'no two masters',
    why: 'm2 is down',
    hint: 'fix that',
  },
  step: { id: 'cluster/wait', title: 'Wait for masters', since: minutes(1), attempts: 1 },
  wait: {
    step: 'cluster/wait',
    sentence: 'two masters are ready',
    status: '1 of 2',
    since: minutes(2),
    limit: minutes(60),
  },
  restart: {
    kind: 'resume',
    reused: 4,
    next: [
      { id: 'cluster/wait', title: 'Wait for masters' },
      { id: 'disk/sign', title: 'Sign' },
    ],
  },
  files: [
    { name: 'journal.jsonl', what: 'j', bytes: 4 },
    { name: 'agent.log', what: 'l', bytes: 4, of: 900 },
    { name: 'mounts.txt', what: 'm', missing: 'this host has no /proc/1/mounts' },
    { name: 'gone.txt', what: 'g', bytes: 4 },
    { name: 'changed.txt', what: 'c', bytes: 4 },
  ],
};
const text = JSON.stringify(manifest);

type Entry = readonly [
  name: string,
  content: string,
  type?: 'symlink' | 'directory' | 'character-device',
];

async function tar(entries: readonly Entry[]): Promise<Uint8Array> {
  const archive = pack();
  for (const [name, content, type] of entries)
    archive.entry({ name, ...(type !== undefined && { type, linkname: '/etc/shadow' }) }, content);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

async function read(bytes: Uint8Array, format: string): Promise<number> {
  const path = join(folder, 'b.tar.gz');
  writeFileSync(path, bytes);
  return bootwright().run(['logs', 'read', path, '--format', format]);
}

/** Reads paths and returns those that the output shows. */
async function pathsOf(...paths: readonly string[]): Promise<readonly string[]> {
  expect(await bootwright().run(['logs', 'read', ...paths])).toBe(0);
  return printed.split('\n').filter((line) => line.endsWith(':'));
}

const whole: readonly Entry[] = [
  ['manifest.json', text],
  ...['journal.jsonl', 'agent.log'].map((name) => [name, '1234'] as const),
  ['changed.txt', '12345'],
];

describe('bootwright logs read', () => {
  it('summarizes a bundle in eleven lines: failure, cause, wait and next step', async () => {
    expect(await read(await tar(whole), 'text')).toBe(0);
    expect(printed.trimEnd().split('\n')).toEqual([
      'master, bootwright 0.1.0, host m1 h, cluster c, run r',
      'failed 1970-01-01T00:05:00.000Z, 5 min after its start',
      'wait.timed-out: no two masters',
      'why: m2 is down',
      'in cluster/wait, Wait for masters, since 1970-01-01T00:01:00.000Z, attempt 1',
      'cluster/wait was waiting until two masters are ready: 1 of 2, for 3 min of at most 1 h',
      'next: fix that',
      'the service refuses a restart until its cluster is reset',
      'in the bundle: 2 of 5 files',
      'not in it: mounts.txt (this host has no /proc/1/mounts), gone.txt (it is gone from the bundle), changed.txt (it was changed)',
      'only the end of: agent.log',
    ]);
  });

  it('reads the archive of the controller from the service', async () => {
    const line = (second: number, msg: string, fields: object = {}): string =>
      `${JSON.stringify({ level: 'info', time: `2026-11-30T05:00:0${second}.000Z`, run: 'r', ...fields, msg })}\n`;
    const failure = { code: 'x.y', message: 'no operators', hint: 'look at console' };
    const log = `${line(0, 'run started', { role: 'controller', version: '1' })}${line(9, 'run failed', { failure })}`;
    expect(await read(await tar([['assisted-installer-controller.logs', log]]), 'text')).toBe(0);
    expect(printed).toContain('x.y: no operators\n');
    expect(printed).toContain('next: look at console\n');
  });

  it('prints JSON', async () => {
    expect(await read(await tar(whole), 'json')).toBe(0);
    const document = JSON.parse(printed) as BundleDocument;
    expect(document).toMatchObject(manifest);
    expect(document.missing.map(({ name }) => name)).toEqual([
      ...['mounts.txt', 'gone.txt', 'changed.txt'],
    ]);
  });

  it('reads several bundles and those of a folder, each under its path', async () => {
    const bytes = await tar(whole);
    const names = ['bundle-20261124T124100Z.tar.gz', 'logs-20261124T124200Z.tar.gz'];
    for (const name of names) writeFileSync(join(folder, name), bytes);
    writeFileSync(join(folder, 'other.tar.gz'), '');
    expect(await pathsOf(folder)).toEqual(names.map((name) => `${join(folder, name)}:`));

    printed = '';
    const paths = names.map((name) => join(folder, name));
    expect(await bootwright().run(['logs', 'read', ...paths, '--format', 'json'])).toBe(0);
    const documents = JSON.parse(printed) as readonly (BundleDocument & { path: string })[];
    expect(documents.map(({ path }) => path)).toEqual(paths);
  });

  it('reads the bundles and logs below a folder, a log only without the bundle of its run', async () => {
    const noted = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const at = (...names: readonly string[]) => join(folder, ...names);
    const log = (run: string) =>
      `${JSON.stringify({ level: 'info', time: '2026-11-30T05:00:00.000Z', run, msg: 'run started' })}\n`;
    const bundle = at('m1', 'root', 'opt', 'install-dir', 'bundle-20261124T124100Z.tar.gz');
    mkdirSync(dirname(bundle), { recursive: true });
    mkdirSync(at('m2'));
    writeFileSync(bundle, await tar(whole));
    writeFileSync(at('m1', 'agent-1.log'), log('r'));
    writeFileSync(at('m2', 'agent-1.log'), log('s'));
    writeFileSync(at('m2', 'kubelet.log'), 'text');
    mkdirSync(at('elsewhere'));
    symlinkSync(at('elsewhere'), at('m2', 'link'));
    symlinkSync(at('m2', 'agent-1.log'), at('m2', 'agent-2.log'));
    expect(await pathsOf(folder)).toEqual([`${bundle}:`, `${at('m2', 'agent-1.log')}:`]);
    expect(noted.mock.calls.flat().join('')).toBe(
      `note: left out, as they cannot be read as logs of Bootwright: ${at('m2', 'kubelet.log')}\n`,
    );

    symlinkSync(folder, at('elsewhere', 'up'));
    await expect(bootwright().run(['logs', 'read', at('elsewhere')])).rejects.toMatchObject({
      message: `no bundle of logs below ${at('elsewhere')}`,
    });
  });

  it('warns about a folder without bundles and reads the others', async () => {
    const warned = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const [full, empty] = ['full', 'empty'].map((name) => join(folder, name));
    for (const path of [full!, empty!]) mkdirSync(path);
    const bundle = join(full!, 'bundle-20261124T124100Z.tar.gz');
    writeFileSync(bundle, await tar(whole));
    expect(await pathsOf(full!, empty!)).toEqual([`${bundle}:`]);
    expect(warned.mock.calls).toEqual([[`warning: ${empty} has no bundle of logs\n`]]);
    await expect(bootwright().run(['logs', 'read', empty!, empty!])).rejects.toMatchObject({
      code: 'cli.bundle-not-read',
    });
  });

  it('shows a manifest without step, wait and start, and without control characters', () => {
    const { step: _, wait: __, since: ___, ...rest } = manifest;
    const failure = { ...manifest.failure, message: 'a\u001b[2J\nb', why: undefined };
    const restart = { kind: 'fresh' };
    const lines = renderBundle({
      ...BundleManifest.parse({ ...rest, failure, restart }),
      missing: [],
    });
    expect(lines).not.toContain('\u001b');
    expect(lines.split('\n').slice(1, 4)).toEqual([
      'failed 1970-01-01T00:05:00.000Z',
      'wait.timed-out: a b',
      'in no step',
    ]);
  });

  const flood = (count: number): readonly Entry[] =>
    Array.from({ length: count }, (_, index) => [`f${index}`, ''] as const);

  it.each<[string, readonly Entry[] | (() => Uint8Array | Promise<Uint8Array>)]>([
    ['an uncompressed file', () => Buffer.from(text)],
    ['an empty file', () => Buffer.alloc(0)],
    ['a truncated bundle', async () => (await tar(whole)).subarray(0, 200)],
    ['an archive that expands to 64 MiB', () => gzipSync(Buffer.alloc(64 * 2 ** 20))],
    ['a file of 17 MiB', () => Buffer.alloc(17 * 2 ** 20)],
    ['a compressed file that is not an archive', () => gzipSync(Buffer.alloc(2048, 'x'))],
    ['a path outside of the archive', [...whole, ['../../etc/passwd', 'x']]],
    ['an absolute path', [...whole, ['/etc/passwd', 'x']]],
    ['a link', [...whole, ['link', '', 'symlink']]],
    ['a device', [...whole, ['device', '', 'character-device']]],
    ['a folder', [...whole, ['folder', '', 'directory']]],
    ['too many files', [...whole, ...flood(100)]],
    ['no manifest', whole.slice(1)],
    ['an invalid manifest', [['manifest.json', '{"v":1}']]],
    ['a manifest of a later version', [['manifest.json', JSON.stringify({ ...manifest, v: 2 })]]],
    [
      'a manifest that is longer than any',
      [['manifest.json', JSON.stringify({ ...manifest, run: 'r'.repeat(2 ** 18) })]],
    ],
    ['a time out of range', [['manifest.json', JSON.stringify({ ...manifest, ended: 9e15 })]]],
  ])('refuses %s', async (_, given) => {
    const bytes = typeof given === 'function' ? await given() : await tar(given);
    await expect(read(bytes, 'text')).rejects.toMatchObject({ code: 'cli.bundle-not-read' });
  });

  it.each(['none', '.'])('refuses the path %s without bundles', async (name) => {
    const run = bootwright().run(['logs', 'read', join(folder, name)]);
    await expect(run).rejects.toMatchObject({ code: 'cli.bundle-not-read', kind: 'input' });
  });
});
