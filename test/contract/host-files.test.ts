// Contract of a host's files.
import { execFileSync } from 'node:child_process';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { watchFlushes } from '../support/flushes.ts';
import { everyHost } from './real/host-subjects.ts';

const { signal } = new AbortController();

everyHost((subject) => {
  describe('files', () => {
    const path = (file: string): string => `${subject().folder}/${file}`;

    it('writes a file, returns its size and digest, and reads it back', async () => {
      const written = await subject().host.writeFile(path('text'), 'grüße\n', { signal });
      expect(written).toEqual({
        path: path('text'),
        bytes: 8,
        sha256: 'b8fb07e729d2c238732229327c1b0669dcb8a15705340409cbbed2a6995898e2',
      });
      await expect(subject().host.readText(path('text'), signal)).resolves.toBe('grüße\n');
    });

    it('has mode 0600 by default', async () => {
      await subject().host.writeFile(path('private'), 'x', { signal });
      await subject().host.writeFile(path('open'), 'x', { signal, mode: 0o644 });
      await expect(subject().modeOf(path('private'))).resolves.toBe(0o600);
      await expect(subject().modeOf(path('open'))).resolves.toBe(0o644);
    });

    it('keeps the old content when the source of the new content fails', async () => {
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
      const names = await subject().host.list(subject().folder, signal);
      expect(names.filter((one) => one.includes('.part'))).toEqual([]);
    });

    it('lists names in order, and nothing for a missing directory', async () => {
      await subject()
        .host.writeFile(path('list/b'), '', { signal })
        .catch(() => undefined);
      const names = await subject().host.list(subject().folder, signal);
      expect(names).toEqual([...names].sort());
      await expect(subject().host.list(path('nowhere'), signal)).resolves.toEqual([]);
    });

    it('reads a large file completely or refuses it by name', async () => {
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

    it('removes a file, even if it is missing', async () => {
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

describe('the files of a host below a root', () => {
  let root: string;
  const at = (path: string): string => join(root, path);
  const host = () => nsenterHost({ root });
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'bootwright-root-'));
    await mkdir(at('var/opt/install-dir'), { recursive: true });
    // As in CoreOS, and as an administrator may do.
    await symlink('var/opt', at('opt'));
    await symlink('/var/opt', at('srv'));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rm(root, { recursive: true });
  });

  it.each(['/opt/install-dir/x', '/srv/install-dir/x', '/srv/./../opt/install-dir//x'])(
    'are reached through symlinked directories: %s',
    async (path) => {
      await host().writeFile(path, 'here', { signal });
      await expect(readFile(at('var/opt/install-dir/x'), 'utf8')).resolves.toBe('here');
      await expect(host().readText(path, signal)).resolves.toBe('here');
      await expect(host().realPath(path, signal)).resolves.toBe('/var/opt/install-dir/x');
      await expect(host().list(dirname(path), signal)).resolves.toEqual(['x']);
      await host().remove(path, signal);
      await expect(readdir(at('var/opt/install-dir'))).resolves.toEqual([]);
    },
  );

  it('are never outside the root, wherever a symlink points', async () => {
    const outside = join(tmpdir(), `outside-${process.pid}`);
    await writeFile(outside, 'ours');
    try {
      for (const target of [outside, `../../../../../../../..${outside}`]) {
        await symlink(target, at('link'));
        await expect(host().readText('/link', signal)).resolves.toBeUndefined();
        await expect(host().realPath('/link', signal)).resolves.toBeUndefined();
        await host().writeFile('/link', 'theirs', { signal });
        await expect(readFile(at('link'), 'utf8')).resolves.toBe('theirs');
        await rm(at('link'));
      }
      await symlink(tmpdir(), at('folder'));
      await expect(host().list('/folder', signal)).resolves.toEqual([]);
      const written = host().writeFile('/folder/x', 'theirs', { signal });
      await expect(written).rejects.toMatchObject({ code: 'file.not-written' });
      await host().remove(`/folder/${basename(outside)}`, signal);
      await expect(readFile(outside, 'utf8')).resolves.toBe('ours');
    } finally {
      await rm(outside);
    }
  });

  it('are not followed through a symlink loop', async () => {
    await symlink('/two', at('one'));
    await symlink('one', at('two'));
    await expect(host().readText('/one', signal)).rejects.toMatchObject({ code: 'file.not-read' });
    await expect(host().realPath('/one', signal)).resolves.toBeUndefined();
    const written = host().writeFile('/one/x', '', { signal });
    await expect(written).rejects.toMatchObject({ code: 'file.not-written' });
  });

  it('are flushed with their directory and get their mode despite the umask', async () => {
    const flushed = await watchFlushes();
    const umask = process.umask(0o077);
    try {
      await host().writeFile('/opt/a', 'x', { signal, mode: 0o644 });
    } finally {
      process.umask(umask);
    }
    expect(flushed).toEqual([at('var/opt/.a.part'), at('var/opt')]);
    expect((await stat(at('opt/a'))).mode & 0o777).toBe(0o644);
  });

  it.each([
    ['a link', (part: string) => symlink(at('theirs'), part)],
    ['a pipe', (part: string) => Promise.resolve(execFileSync('mkfifo', [part]))],
    ['a partial file', (part: string) => writeFile(part, 'half')],
  ])('are not written through an existing temporary file: %s', async (_, plant) => {
    await writeFile(at('theirs'), 'theirs');
    await plant(at('var/opt/.secret.part'));
    await host().writeFile('/opt/secret', 'secret', { signal });
    await expect(readFile(at('opt/secret'), 'utf8')).resolves.toBe('secret');
    expect((await lstat(at('opt/secret'))).mode & 0o777).toBe(0o600);
    await expect(readFile(at('theirs'), 'utf8')).resolves.toBe('theirs');
    await expect(readdir(at('var/opt'))).resolves.toEqual(['install-dir', 'secret']);
  });

  it('are refused if they are a pipe or too large', async () => {
    execFileSync('mkfifo', [at('opt/pipe')]);
    await writeFile(at('opt/large'), '');
    // A hole takes no space on the disk.
    await truncate(at('opt/large'), 100 * 1024 ** 2);
    const read = (path: string) => host().readText(path, signal);
    await expect(read('/opt/pipe')).rejects.toMatchObject({ code: 'file.not-read' });
    await expect(read('/opt/large')).rejects.toMatchObject({ code: 'file.too-large' });
  });
});
