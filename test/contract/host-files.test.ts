// Files of a host, where it is reached directly and where by commands alone.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { writeDirect } from '../../src/adapters/host/direct-files.ts';
import { watchFlushes } from '../support/flushes.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { runningHost } from '../../src/cli/node.ts';
import { everyHost, standInNsenter } from './real/host-subjects.ts';

const { signal } = new AbortController();

everyHost((subject) => {
  describe.each(['shared', 'remote'] as const)('files in a %s directory', (where) => {
    const path = (file: string): string => `${subject()[where]}/${file}`;

    it('reads back what was written, with its size and digest', async () => {
      const written = await subject().host.writeFile(path('text'), 'grüße\n', { signal });
      expect(written).toEqual({
        path: path('text'),
        bytes: 8,
        sha256: 'b8fb07e729d2c238732229327c1b0669dcb8a15705340409cbbed2a6995898e2',
      });
      await expect(subject().host.readText(path('text'), signal)).resolves.toBe('grüße\n');
    });

    it('is private unless told otherwise', async () => {
      await subject().host.writeFile(path('private'), 'x', { signal });
      await subject().host.writeFile(path('open'), 'x', { signal, mode: 0o644 });
      await expect(subject().modeOf(path('private'))).resolves.toBe(0o600);
      await expect(subject().modeOf(path('open'))).resolves.toBe(0o644);
    });

    it('leaves the old content when the source of the new one breaks', async () => {
      await subject().host.writeFile(path('kept'), 'old', { signal });
      const broken = async function* broken(): AsyncGenerator<Uint8Array> {
        await Promise.resolve();
        yield new TextEncoder().encode('new');
        throw new Error('cut');
      };
      await expect(subject().host.writeFile(path('kept'), broken(), { signal })).rejects.toThrow(
        'cut',
      );
      await expect(subject().host.readText(path('kept'), signal)).resolves.toBe('old');
      const names = await subject().host.list(subject()[where], signal);
      expect(names.filter((one) => one.includes('.part'))).toEqual([]);
    });

    it('lists names in order, and none of a directory that is not there', async () => {
      await subject()
        .host.writeFile(path('list/b'), '', { signal })
        .catch(() => undefined);
      const names = await subject().host.list(subject()[where], signal);
      expect(names).toEqual([...names].sort());
      await expect(subject().host.list(path('nowhere'), signal)).resolves.toEqual([]);
    });

    it('reads a large file whole, or refuses it by its name', async () => {
      const text = `${'x'.repeat(1023)}\n`.repeat(9 * 1024);
      await subject().host.writeFile(path('large'), text, { signal });
      const outcome = await subject()
        .host.readText(path('large'), signal)
        .catch((error: unknown) => error);
      if (typeof outcome === 'string') expect(outcome.length).toBe(text.length);
      else {
        expect(outcome).toMatchObject({ code: 'file.too-large', context: { path: path('large') } });
      }
    });

    it('has no text for a file that is not there', async () => {
      await expect(subject().host.readText(path('nothing'), signal)).resolves.toBeUndefined();
    });

    it('removes a file, also one that is not there', async () => {
      await subject().host.writeFile(path('gone'), 'x', { signal });
      await subject().host.remove(path('gone'), signal);
      await subject().host.remove(path('gone'), signal);
      await expect(subject().host.readText(path('gone'), signal)).resolves.toBeUndefined();
    });

    it('follows links', async () => {
      await subject().host.writeFile(path('target'), 'x', { signal });
      await subject().link(path('relative'), 'target');
      await subject().link(path('absolute'), path('relative'));
      await expect(subject().host.realPath(path('absolute'), signal)).resolves.toBe(path('target'));
      await expect(subject().host.realPath(path('none'), signal)).resolves.toBeUndefined();
    });
  });
});

it('is on the disk with its name and its mode when it is written directly', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-files-'));
  const flushed = await watchFlushes();
  const umask = process.umask(0o077);
  try {
    const at = join(directory, 'a');
    await writeDirect({ at, path: '/opt/a' }, 'x', { signal, mode: 0o644 });
    expect(flushed).toEqual([join(directory, '.a.part'), directory]);
    expect((await stat(at)).mode & 0o777).toBe(0o644);
  } finally {
    process.umask(umask);
    vi.restoreAllMocks();
    await rm(directory, { recursive: true });
  }
});

it('reaches the host by commands alone below a pod that shares nothing with it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-host-'));
  const environment = { PATH: await standInNsenter(directory) };
  // What the pod has at its own /tmp; the stand-in enters this machine, where the file belongs.
  const host = nsenterHost({ root: join(directory, 'pod'), environment, sharesNothing: true });
  const path = join(directory, 'anchor.crt');
  await host.writeFile(path, 'CA', { signal, mode: 0o644 });
  await expect(readFile(path, 'utf8')).resolves.toBe('CA');
  await expect(host.readText(path, signal)).resolves.toBe('CA');
  await expect(host.realPath(path, signal)).resolves.toBe(path);
  await expect(host.list(directory, signal)).resolves.toEqual(['anchor.crt', 'bin']);
  const stop = new AbortController();
  await host.watch([path], () => stop.abort(), stop.signal);
  await host.remove(path, signal);
  await expect(host.readText(path, signal)).resolves.toBeUndefined();
  await rm(directory, { recursive: true });
});

it('writes through nothing that stands or comes in the place of a temporary file which only the host sees', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-host-'));
  const environment = { PATH: await standInNsenter(directory) };
  const host = nsenterHost({ root: join(directory, 'pod'), environment, sharesNothing: true });
  const [path, part] = [join(directory, 'secret'), join(directory, '.secret.part')];
  const theirs = join(directory, 'theirs');
  await writeFile(theirs, 'theirs');
  for (const plant of [
    () => symlink(theirs, part),
    () => Promise.resolve(execFileSync('mkfifo', [part])),
  ]) {
    await plant();
    await host.writeFile(path, 'secret', { signal });
    await expect(readFile(path, 'utf8')).resolves.toBe('secret');
  }
  // Somebody is quicker than the program that writes.
  const swap = `rm -f ${part}\nln -s ${theirs} ${part}`;
  const dd = join(directory, 'bin/dd');
  await writeFile(dd, `#!/bin/sh\n${swap}\nexec /bin/dd "$@"\n`, { mode: 0o755 });
  await expect(host.writeFile(path, 'another', { signal })).rejects.toMatchObject({
    code: 'file.not-written',
  });
  await expect(readFile(path, 'utf8')).resolves.toBe('secret');
  await expect(readFile(theirs, 'utf8')).resolves.toBe('theirs');
  await rm(directory, { recursive: true });
});

it('writes what a MachineConfig has below /etc/pki or /opt to the host of a running node', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bootwright-host-'));
  const ran: string[] = [];
  const host = runningHost({ PATH: await standInNsenter(directory) }, (event) => {
    if (event.type === 'command.started') ran.push(event.argv[0] ?? '');
  });
  await host.writeFile(join(directory, 'x'), '1', { signal });
  expect(ran).toEqual(['install', 'dd', 'mv', 'sync']);
  await rm(directory, { recursive: true });
});
