import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { aptPackages } from '../../scripts/parts/apt-packages.ts';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { ensureParts } from '../../scripts/parts/ensure.ts';
import { partFolder } from '../../scripts/parts/part.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { decodeResource, readFileContent } from '../../src/ignition/resource.ts';
import { createTestFolder, type TestFolder } from '../guest/rig/test-folder.ts';
import { createLiveIso, liveInitramfs } from '../support/live-media.ts';

const keyfile = '[connection]\nid=eno1\ntype=ethernet\n';

let folder: TestFolder;
let printed = '';

const at = (name: string): string => join(folder.path, name);
const put = (name: string, content: string | Buffer): string => {
  writeFileSync(at(name), content);
  return at(name);
};

/** Puts a script in place of the real program. */
function replaceInstaller(script: string): void {
  chmodSync(put('bin/coreos-installer', `#!/bin/sh\n${script}\n`), 0o755);
  vi.stubEnv('PATH', `${at('bin')}:/usr/bin:/bin`);
}

/** The real program, called for the content of a medium. */
async function installer(...args: readonly string[]): Promise<string> {
  const program = join(partFolder(coreosInstaller), 'bin', 'coreos-installer');
  return (await promisify(execFile)(program, args)).stdout;
}

beforeAll(async () => {
  await ensureParts([aptPackages, coreosInstaller]);
  folder = createTestFolder('media');
  for (const name of ['net', 'pxe', 'bin', 'other']) mkdirSync(at(name));
  put('other/a-initramfs.img', 'none');
  put('net/eno1.nmconnection', keyfile);
  put('master.ign', '{"ignition":{"version":"3.2.0"}}');
  put('pxe/live-initramfs.x86_64.img', liveInitramfs());
  const disk = 'disk: { device: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3 }';
  const network = `network: { keyfiles: ${at('net')} }`;
  put('host.yaml', `role: master\n${disk}\nignition: { file: ${at('master.ign')} }\n${network}\n`);
  const large = randomBytes(300 * 1024).toString('base64');
  put(
    'large.ign',
    `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:;base64,${large}"}}]}}`,
  );
  put('large.yaml', `role: master\n${disk}\nignition: { file: ${at('large.ign')} }\n`);
  put('none.iso', Buffer.alloc(40_960));
  await createLiveIso(at('live.iso'));
  await createLiveIso(at('old.iso'), { isOld: true });
}, 1_800_000);

afterAll(() => {
  folder[Symbol.dispose]();
});

beforeEach(() => {
  vi.stubEnv('PATH', `${join(partFolder(coreosInstaller), 'bin')}:${process.env['PATH'] ?? ''}`);
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  // Neither a failed medium nor its parts remain.
  expect(readdirSync(folder.path).filter((name) => name.startsWith('.'))).toEqual([]);
});

const media = (out: string, ...words: readonly string[]): Promise<number> =>
  bootwright().run([
    ...['media', '--config', at('host.yaml'), '--out', at(out)],
    ...['--image', 'registry.example/bootwright:latest', ...words],
  ]);

/**
 * The config that Ignition receives: coreos-installer wraps the config of the medium into one of
 * its own.
 */
function innerConfig(text: string) {
  const config = parseValidConfig(text);
  const [inner] = config.ignition.config?.merge ?? [];
  return parseValidConfig(decodeResource(inner!));
}

describe('bootwright media with the real coreos-installer', () => {
  it('creates an ISO with Ignition and keyfiles that only its owner can read', async () => {
    expect(await media('host.iso', '--iso', at('live.iso'))).toBe(0);
    expect(statSync(at('host.iso')).mode & 0o777).toBe(0o600);
    const config = innerConfig(await installer('iso', 'ignition', 'show', at('host.iso')));
    expect(config.systemd?.units?.map(({ name }) => name)).toEqual(['bootwright.service']);
    expect(config.storage?.files?.map(({ path }) => path)).toEqual([
      '/etc/bootwright/config.yaml',
      '/etc/bootwright/host.ign',
      '/etc/bootwright/network/eno1.nmconnection',
    ]);
    await installer('iso', 'network', 'extract', '-C', at('extracted'), at('host.iso'));
    expect(readFileSync(at('extracted/eno1.nmconnection'), 'utf8')).toBe(keyfile);
    expect(printed).toContain(
      'everything on /dev/disk/by-id/wwn-0x5000c500a0b1c2d3 is destroyed then\n',
    );
    expect(printed).toMatch(/^ {2}\/etc\/bootwright\/host\.ign +secret {2}ignition\.file: /m);
    expect(printed).not.toContain('kernel arguments');
    // The live image is unchanged.
    await expect(installer('iso', 'ignition', 'show', at('live.iso'))).rejects.toThrow(
      'No embedded Ignition config',
    );
  });

  it('adds the registry credentials and the public keys that it accepts', async () => {
    const pullSecret = '{"auths":{"registry.example":{"auth":"planted-auth"}}}\n';
    const key = 'ssh-ed25519 AAAAC3Nz a@b';
    const words = ['--authfile', put('auth.json', pullSecret)];
    words.push('--ssh-key', put('id.pub', `# admins\n${key}\r\n`));
    expect(await media('keys.iso', '--iso', at('live.iso'), ...words)).toBe(0);
    const config = innerConfig(await installer('iso', 'ignition', 'show', at('keys.iso')));
    const secret = Buffer.from(readFileContent(config, '/root/.docker/config.json')).toString();
    expect(secret).toBe(pullSecret);
    expect(config.passwd?.users).toEqual([{ name: 'core', sshAuthorizedKeys: [key] }]);
    expect(printed).not.toContain('planted');
  });

  it('creates an initramfs for network boot and prints its kernel arguments', async () => {
    expect(await media('52-54-00-12-34-56.img', '--pxe', at('pxe'), '--format', 'json')).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({
      kernelArguments: ['ignition.firstboot', 'ignition.platform.id=metal'],
      image: 'registry.example/bootwright:latest',
    });
    const image = at('52-54-00-12-34-56.img');
    expect(statSync(image).mode & 0o777).toBe(0o600);
    const config = innerConfig(await installer('pxe', 'ignition', 'unwrap', image));
    expect(config.systemd?.units?.map(({ name }) => name)).toEqual(['bootwright.service']);
    expect(await installer('pxe', 'network', 'unwrap', image)).toContain('type=ethernet');
    // An Ignition config that is too large for an ISO.
    expect(await media('large.img', '--pxe', at('pxe'), '--config', at('large.yaml'))).toBe(0);
  });

  it.each([
    ['an ISO of another host', ['--iso', 'host.iso'], 'media.already-customized'],
    ['an ISO without a live system', ['--iso', 'none.iso'], 'media.not-live'],
    ['an initramfs as ISO', ['--iso', 'pxe/live-initramfs.x86_64.img'], 'media.not-live'],
    ['a missing ISO', ['--iso', 'no.iso'], 'media.not-live'],
    ['an ISO without support for keyfiles', ['--iso', 'old.iso'], 'media.no-network'],
    [
      'an ISO without space for the config',
      ['--iso', 'live.iso', '--config', 'large.yaml'],
      'media.too-large',
    ],
    ['an initramfs without a live system', ['--pxe', 'other'], 'media.not-live'],
  ])('refuses %s', async (_, words, code) => {
    const placed = words.map((word) => (word.startsWith('--') ? word : at(word)));
    await expect(media('other.iso', ...placed)).rejects.toMatchObject({ code });
  });

  it('names the package of a missing coreos-installer', async () => {
    vi.stubEnv('PATH', at('no-programs'));
    await expect(media('other.iso', '--iso', at('live.iso'))).rejects.toMatchObject({
      code: 'media.no-installer',
      kind: 'host',
      hint: expect.stringContaining('dnf install coreos-installer') as string,
    });
  });

  it('stops coreos-installer on SIGINT and leaves no file behind', async () => {
    replaceInstaller('exec sleep 600');
    const words = ['--config', at('host.yaml'), '--iso', at('live.iso'), '--out', at('other.iso')];
    const main = join(import.meta.dirname, '../../src/main.ts');
    const child = spawn(process.execPath, [main, 'media', ...words, '--image', 'i']);
    const hasScratch = (): boolean => readdirSync(folder.path).some((name) => name.startsWith('.'));
    await expect.poll(hasScratch).toBe(true);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(readdirSync(folder.path)).not.toContain('other.iso');
  });

  it('does not overwrite a file that was created in the meantime', async () => {
    const real = join(partFolder(coreosInstaller), 'bin', 'coreos-installer');
    const other = `echo 'of another host' > ${at('late.iso')}`;
    replaceInstaller(`${other}\nexec ${real} "$@"`);
    await expect(media('late.iso', '--iso', at('live.iso'))).rejects.toMatchObject({
      code: 'media.out-exists',
    });
    expect(readFileSync(at('late.iso'), 'utf8')).toBe('of another host\n');
  });

  it('reports other errors of coreos-installer', async () => {
    replaceInstaller('echo "Error: No space left on device" >&2\nexit 1');
    await expect(media('other.iso', '--iso', at('live.iso'))).rejects.toMatchObject({
      code: 'media.not-made',
      cause: { message: expect.stringContaining('No space left on device') as string },
    });
  });
});
