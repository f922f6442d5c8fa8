// Reading real links and pipes, and endless files.
import { execFileSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import {
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
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepBundle } from '../../src/adapters/bundle-file.ts';
import { statusFile } from '../../src/adapters/status-file.ts';
import { fileJournal } from '../../src/adapters/journal.ts';
import { openEventStream } from '../../src/adapters/logging/log-sink.ts';
import { authoritiesIn } from '../../src/adapters/http/tls.ts';
import { commandCredentials } from '../../src/cli/cluster.ts';
import { runCapiRender } from '../../src/cli/capi/render.ts';
import { readSource } from '../../src/cli/layer/files.ts';
import { runLint } from '../../src/cli/lint.ts';
import { runMedia } from '../../src/cli/media.ts';
import type { Environment } from '../../src/config/environment.ts';
import { type LoadedConfig, loadConfig, requireInstallable } from '../../src/config/load.ts';

const mebibyte = 1024 ** 2;
let root: string;
const at = (path: string): string => join(root, path);

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'bootwright-own-'));
  for (const folder of ['tmp', 'opt/install-dir', 'var/log', 'home']) {
    await mkdir(at(folder), { recursive: true });
  }
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(root, { recursive: true, force: true });
});

it('opens an event stream to a device and to a pipe with a reader', async () => {
  const stream = at('var/log/events');
  execFileSync('mkfifo', [stream]);
  openSync(stream, constants.O_RDONLY | constants.O_NONBLOCK);
  for (const path of [stream, '/dev/null'])
    await expect(openEventStream(path, (text) => text).close()).resolves.toBeUndefined();
});

describe('an oversized file', () => {
  const sparse = async (path: string): Promise<string> => {
    await writeFile(at(path), '');
    // A hole takes no space on the disk.
    await truncate(at(path), 100 * mebibyte);
    return at(path);
  };
  const load = (words: readonly string[], environment: Environment = {}): Promise<LoadedConfig> =>
    loadConfig(['-r', 'worker', ...words], environment);

  const ids = 'b9e5a5a5-0000-4000-8000-000000000001';
  const complete = ['--boot-device', '/dev/vda', '--url', 'https://s', '--cluster-id', ids].concat([
    ...['--infra-env-id', ids, '--host-id', ids, '--openshift-version', '4.20.1'],
  ]);

  const reads: Readonly<Record<string, (path: string) => unknown>> = {
    'as the journal': (path) => fileJournal(path).read(),
    'as a configuration': (path) => load(['--config', path]),
    'as a secret': (path) => load([], { BOOTWRIGHT_SERVICE_TOKEN_FILE: path }),
    'as certificates': async (path) =>
      requireInstallable(await load(['--cacert', path, ...complete])),
    'as certificates of a request': (path) => authoritiesIn(path),
    'as a kubeconfig': (path) => commandCredentials({}, path),
    'as a manifest': (path) => readSource(path),
  };

  it.each(Object.keys(reads))('%s is refused', async (what) => {
    const path = await sparse('opt/large');
    await expect(codesOf(() => reads[what]?.(path))).resolves.toContain('file.too-large');
  });

  it.each(['as a configuration', 'as certificates', 'as a kubeconfig'])(
    '%s is read only up to the limit',
    async (what) => {
      await expect(codesOf(() => reads[what]?.('/dev/zero'))).resolves.toContain('file.too-large');
    },
  );

  it('is reported by lint', async () => {
    const shown = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    await expect(runLint({ values: [await sparse('opt/large')], format: 'text' })).resolves.toBe(2);
    expect(shown.mock.calls.flat().join('')).toContain('is larger than 16 MiB');
  });

  it.each(['home/install-config.yaml', 'home/openshift/99-a.yaml'])(
    'or pipe does not block capi render: %s',
    async (path) => {
      await mkdir(at('home/openshift'));
      await writeFile(at('home/.openshift_install_state.json'), '{}');
      execFileSync('mkfifo', [at(path)]);
      const render = runCapiRender({
        dir: at('home'),
        platform: 'external',
        openshiftVersion: '4.20.0',
        releaseImage: 'r.test/release',
        agentImage: 'r.test/agent',
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
  ])('or pipe does not block media: %s', async (path, code) => {
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

  it('is not assumed for a pipe from a shell', async () => {
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

it.each<readonly [string, (path: string) => Promise<unknown>]>([
  [
    'a status file',
    (path) => {
      const file = statusFile(path);
      file.show('new');
      return file.close();
    },
  ],
  ['a bundle', (path) => keepBundle(path, Buffer.from('new'))],
])('%s is not written through an existing temporary file', async (_, write) => {
  await writeFile(at('home/theirs'), 'theirs\n');
  await symlink(at('home/theirs'), at('opt/.file.part'));
  await write(at('opt/file'));
  await expect(readFile(at('opt/file'), 'utf8')).resolves.toBe('new');
  expect((await lstat(at('opt/file'))).mode & 0o777).toBe(0o600);
  await expect(readdir(at('opt'))).resolves.toEqual(['file', 'install-dir']);
  await expect(readFile(at('home/theirs'), 'utf8')).resolves.toBe('theirs\n');
});
