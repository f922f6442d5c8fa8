// Our files with real links, pipes, owners and modes, as another user of the host could put them there.
import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepBundle } from '../../src/adapters/bundle-file.ts';
import { statusFile } from '../../src/adapters/status-file.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { fileJournal } from '../../src/adapters/journal.ts';
import { openEventStream, openLog } from '../../src/adapters/logging/log-sink.ts';
import { authoritiesIn } from '../../src/adapters/http/tls.ts';
import { commandCredentials } from '../../src/cli/cluster.ts';
import { runCapiRender } from '../../src/cli/capi/render.ts';
import { runStatus } from '../../src/cli/status.ts';
import { readSource } from '../../src/cli/layer/files.ts';
import { runLayerLint } from '../../src/cli/lint.ts';
import { runMedia } from '../../src/cli/media.ts';
import type { Environment } from '../../src/config/environment.ts';
import { type LoadedConfig, loadConfig, requireInstallable } from '../../src/config/load.ts';
import { readSettings } from '../../src/config/sources.ts';

const { signal } = new AbortController();
const mebibyte = 1024 ** 2;
let root: string;
const at = (path: string): string => join(root, path);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'bootwright-own-'));
  for (const folder of ['tmp', 'opt/install-dir', 'var/log', 'home']) {
    await mkdir(at(folder), { recursive: true });
  }
  await writeFile(at('home/theirs'), 'theirs\n', { mode: 0o600 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

/** What another user may leave where our file is expected. */
const planted: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  'a link': (path) => symlink(at('home/theirs'), path),
  'a link that leads nowhere': (path) => symlink(at('home/nothing'), path),
  'a second name of another file': (path) => link(at('home/theirs'), path),
  'a pipe': (path) => Promise.resolve(execFileSync('mkfifo', [path])),
  'a directory': (path) => mkdir(path),
  // Only root can give a file away.
  ...(process.geteuid?.() === 0 && {
    'a file of another user': async (path: string) => {
      await writeFile(path, 'theirs\n', { mode: 0o644 });
      await chown(path, 65_534, 65_534);
    },
  }),
  'a file that everybody can write': async (path) => {
    await writeFile(path, 'theirs\n');
    await chmod(path, 0o666);
  },
  'a file that its group can write': async (path) => {
    await writeFile(path, 'theirs\n');
    await chmod(path, 0o620);
  },
};

const plant = async (what: string, path: string): Promise<void> => {
  await planted[what]?.(path);
};

const readings: Readonly<Record<string, readonly [string, () => Promise<unknown>]>> = {
  'the journal, read': [
    'opt/install-dir/journal.jsonl',
    () => fileJournal(at('opt/install-dir/journal.jsonl')).read(),
  ],
  'the journal, appended to': [
    'opt/install-dir/journal.jsonl',
    () => fileJournal(at('opt/install-dir/journal.jsonl')).append('{"ours":1}', { flush: true }),
  ],
  'the log of the controller': [
    'tmp/controller_logs.log',
    () => nsenterHost({ root }).readText('/tmp/controller_logs.log', signal, { isOurs: true }),
  ],
  'the log': [
    'var/log/agent.log',
    async () => {
      const file = at('var/log/agent.log');
      await openLog({
        ...{ level: 'info', format: 'json', descriptors: [], mask: (text) => text, file },
      }).close();
    },
  ],
  'the event stream': [
    'var/log/events.jsonl',
    () => openEventStream(at('var/log/events.jsonl'), (text) => text).close(),
  ],
};

describe.each(Object.entries(readings))('%s', (name, [path, use]) => {
  const isLog = name === 'the log' || name === 'the event stream';
  it.each(Object.keys(planted))('is not %s', async (what) => {
    await plant(what, at(path));
    const error: unknown = await Promise.resolve()
      .then(use)
      .catch((thrown: unknown) => thrown);
    // The kernel says by itself that nobody reads a pipe, and that a directory takes no lines.
    const codes = isLog
      ? ['file.not-ours', 'log.not-opened']
      : ['file.not-ours', 'journal.not-kept'];
    expect(codes).toContain((error as { code?: string } | undefined)?.code);
    if (!/pipe|directory/.test(what)) expect(error).toMatchObject({ code: 'file.not-ours' });
    await expect(readFile(at('home/theirs'), 'utf8')).resolves.toBe('theirs\n');
    await expect(readFile(at('home/nothing'))).rejects.toThrow('ENOENT');
  });
});

it('still logs to a device, and sends events to a pipe that somebody reads', async () => {
  const stream = at('var/log/events');
  execFileSync('mkfifo', [stream]);
  openSync(stream, constants.O_RDONLY | constants.O_NONBLOCK);
  await openEventStream(stream, (text) => text).close();
  await openEventStream('/dev/null', (text) => text).close();
});

it('shows no journal of somebody else', async () => {
  await plant('a link', at('opt/install-dir/journal.jsonl'));
  const environment = { BOOTWRIGHT_HOST_ROOT: root };
  const shown = runStatus({
    argv: ['-r', 'worker'],
    environment,
    format: 'text',
    watch: false,
    steps: true,
  });
  await expect(shown).rejects.toMatchObject({
    code: 'cli.journal-not-found',
    cause: { code: 'file.not-ours' },
  });
});

describe('a file without end', () => {
  const sparse = async (path: string): Promise<string> => {
    await writeFile(at(path), '');
    // A hole takes no room on the disk.
    await truncate(at(path), 100 * mebibyte);
    return at(path);
  };
  const load = (words: readonly string[], environment: Environment = {}): Promise<LoadedConfig> =>
    loadConfig(readSettings(['-r', 'worker', ...words], environment));

  const ids = 'b9e5a5a5-0000-4000-8000-000000000001';
  const complete = ['--boot-device', '/dev/vda', '--url', 'https://s', '--cluster-id', ids].concat([
    ...['--infra-env-id', ids, '--host-id', ids, '--openshift-version', '4.20.1'],
  ]);

  const reads: Readonly<Record<string, (path: string) => unknown>> = {
    'of the host': () => nsenterHost({ root }).readText('/opt/large', signal),
    'that should be the journal': (path) => fileJournal(path).read(),
    'that should be a configuration': (path) => load(['--config', path]),
    'that should hold a secret': (path) => load([], { BOOTWRIGHT_SERVICE_TOKEN_FILE: path }),
    'that should hold certificates': async (path) =>
      requireInstallable(await load(['--cacert', path, ...complete])),
    'that should hold certificates, on the way to a request': (path) => authoritiesIn(path),
    'that should be a kubeconfig': (path) => commandCredentials({}, path),
    'that should hold an object': (path) => readSource(path),
  };

  it.each(Object.keys(reads))('%s is refused by its size', async (what) => {
    const path = await sparse('opt/large');
    await expect(codesOf(() => reads[what]?.(path))).resolves.toContain('file.too-large');
  });

  it.each([
    'that should be a configuration',
    'that should hold certificates',
    'that should be a kubeconfig',
  ])('%s is read no further than such files go', async (what) => {
    await expect(codesOf(() => reads[what]?.('/dev/zero'))).resolves.toContain('file.too-large');
  });

  it('is named by the lint, which continues behind it', async () => {
    const shown = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await expect(
      runLayerLint({ values: [await sparse('opt/large')], format: 'text' }),
    ).resolves.toBe(2);
    expect(shown.mock.calls.flat().join('')).toContain('is larger than 16 MiB');
  });

  it('that is a pipe is not waited for', async () => {
    execFileSync('mkfifo', [at('opt/pipe')]);
    const read = nsenterHost({ root }).readText('/opt/pipe', signal);
    await expect(read).rejects.toMatchObject({ code: 'file.not-read' });
  });

  it.each(['home/install-config.yaml', 'home/openshift/99-a.yaml'])(
    'that is a pipe is not waited for by capi render: %s',
    async (path) => {
      await mkdir(at('home/openshift'));
      await writeFile(at('home/.openshift_install_state.json'), '{}');
      execFileSync('mkfifo', [at(path)]);
      const render = runCapiRender({
        ...{ dir: at('home'), platform: 'external', openshiftVersion: '4.20.0' },
        ...{ releaseImage: 'r.test/release', agentImage: 'r.test/agent' },
      });
      await expect(render).rejects.toMatchObject({
        code: 'config.file-not-read',
        cause: { code: 'file.not-read' },
      });
    },
  );

  it.each<readonly [string, string]>([
    ['opt/pipe', 'media.not-live'],
    ['opt/net/eth0.nmconnection', 'config.file-not-read'],
  ])('that is a pipe is not waited for by media: %s', async (path, code) => {
    await mkdir(at('opt/net'));
    execFileSync('mkfifo', [at(path)]);
    const settings = { role: 'worker', disk: { device: '/dev/vda' }, network: {}, ignition: {} };
    settings.ignition = { url: 'https://images.example.com/w.ign' };
    if (path.includes('net/')) settings.network = { keyfiles: at('opt/net') };
    await writeFile(at('home/host.yaml'), JSON.stringify(settings));
    const call = { config: [at('home/host.yaml')], iso: at(path), out: at('home/host.iso') };
    const image = 'registry.example/bootwright:1';
    await expect(runMedia({ ...call, image, format: 'text' })).rejects.toMatchObject({ code });
  });

  it('is not what a shell hands over: that has an end', async () => {
    execFileSync('mkfifo', [at('opt/pipe')]);
    const read = readSource(at('opt/pipe'));
    await writeFile(at('opt/pipe'), 'kind: List\n');
    await expect(read).resolves.toMatchObject({ text: 'kind: List\n' });
  });
});

/** The codes of a failure and of its causes. */
async function codesOf(read: () => unknown): Promise<readonly unknown[]> {
  const codes: unknown[] = [];
  try {
    await read();
  } catch (thrown) {
    for (let cause = thrown; cause instanceof Error; { cause } = cause) {
      codes.push((cause as { code?: unknown }).code);
    }
  }
  return codes;
}

describe('in the place of a temporary file', () => {
  const writes: Readonly<Record<string, readonly [string, () => Promise<unknown>]>> = {
    'of a status file': [
      'run/.status.json.part',
      () => {
        const file = statusFile(at('run/status.json'));
        file.show('new');
        return file.close();
      },
    ],
    'of a bundle': [
      'run/.logs.tar.gz.part',
      () => keepBundle(at('run/logs.tar.gz'), Buffer.from('new')),
    ],
    'of a file of the host': [
      'opt/run/.file.part',
      () => nsenterHost({ root }).writeFile('/opt/run/file', 'new', { signal }),
    ],
  };
  const others = Object.keys(planted);
  it.each(Object.keys(writes).flatMap((name) => others.map((what) => [name, what] as const)))(
    '%s %s stays, and nothing is written to it',
    async (name, what) => {
      const [path, write] = writes[name]!;
      await mkdir(dirname(at(path)));
      await plant(what, at(path));
      const before = await lstat(at(path));
      await write();
      const shown = at(path).replace('/.', '/').replace('.part', '');
      expect(await readFile(shown, 'utf8')).toBe('new');
      expect((await lstat(shown)).mode & 0o777).toBe(0o600);
      expect(await lstat(at(path))).toMatchObject({ ino: before.ino, size: before.size });
      expect(await readdir(dirname(at(path)))).toHaveLength(2);
      expect(await readFile(at('home/theirs'), 'utf8')).toBe('theirs\n');
    },
  );

  it.each(Object.keys(writes))('%s what an earlier run has left is removed', async (name) => {
    const [path, write] = writes[name]!;
    await mkdir(dirname(at(path)));
    await writeFile(at(path), 'half', { mode: 0o600 });
    await write();
    expect(await readdir(dirname(at(path)))).toEqual([
      basename(path).slice(1).replace('.part', ''),
    ]);
  });
});
