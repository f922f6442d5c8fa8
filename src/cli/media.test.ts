import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { layerUser } from '../../test/layering/layer-command.ts';
import { bootwright } from './program/commands.ts';

const { at, file, err } = layerUser();

const disk = { device: '/dev/sda' };
const url = 'https://images.example.com/worker.ign';
const host = (): string => file('host.yaml', { role: 'worker', disk, ignition: { url } });

/** Runs the command for live.iso and host.iso, unless the words set others. */
const media = (words: readonly string[] = [], config = host()): Promise<number> =>
  bootwright().run([
    ...['media', '--config', config, '--iso', at('live.iso'), '--out', at('host.iso')],
    ...['--image', 'registry.example/bootwright:1', ...words],
  ]);

const keyfiles = (): string => {
  mkdirSync(at('net'));
  file('net/eth0.nmconnection', 'id=eth0\n');
  return at('net');
};

describe('media', () => {
  it.each([
    ['no source', ['--out', 'x', '--image', 'i'], '--iso and --pxe'],
    ['two sources', ['--iso', 'a', '--pxe', 'b', '--out', 'x'], '--iso and --pxe'],
    ['a missing image of the agent', ['--iso', 'a', '--out', 'x'], 'is not known'],
    [
      'an image with credentials',
      ['--iso', 'a', '--out', 'x', '--image', 'https://u:planted@registry.example/b:1'],
      'is no name of an image',
    ],
  ])('refuses %s', async (_, words, message) => {
    await expect(bootwright().run(['media', '--config', host(), ...words])).rejects.toMatchObject({
      code: 'cli.bad-flag',
      kind: 'input',
      message: expect.stringMatching(new RegExp(`^(?!.*planted).*${message}`)) as string,
    });
  });

  it('notes paths in image.writerArgs that are not added to the medium', async () => {
    const image = { writerArgs: ['-f', '/run/media/rhcos.raw.gz', '--append-karg', 'a=/b'] };
    const config = file('args.yaml', { role: 'worker', disk, ignition: { url }, image });
    await expect(media([], config)).rejects.toMatchObject({ code: 'media.not-live' });
    expect(err().match(/^note: .*/gm)).toEqual([
      'note: image.writerArgs: --image-file: /run/media/rhcos.raw.gz is a path on the live system: it is not in the medium',
    ]);
  });

  it('prints all mistakes that an install would refuse and creates nothing', async () => {
    expect(await media([], file('bad.yaml', { role: 'worker', image: { sha256: 'x' } }))).toBe(2);
    expect(err()).toMatch(/no install disk[^]*an install would be refused: 3 errors/);
    expect(readdirSync(at(''))).toEqual(['bad.yaml']);
  });

  it.each([
    [
      'an invalid Ignition config',
      'ignition.not-json',
      () => ({ ignition: { file: file('w.ign', 'x') } }),
    ],
    ['invalid keyfiles', 'network.bad-keyfile', () => ({ network: { keyfiles: keyfiles() } })],
    [
      'a missing folder of keyfiles',
      'network.bad-keyfile',
      () => ({ network: { keyfiles: at('no') } }),
    ],
    [
      'a hook that is not a script',
      'media.no-script',
      () => ({ hooks: { before: file('hook', '\u007fELF') } }),
    ],
    [
      'a hook with CRLF line breaks',
      'media.no-script',
      () => ({ hooks: { after: file('hook', '#!/bin/bash\r\ntrue\r\n') } }),
    ],
    [
      'an invalid CA bundle',
      'registries.bad-ca',
      () => ({ registries: { ca: file('ca.pem', 'x') } }),
    ],
    ['a missing file', 'config.file-not-read', () => ({ ignition: { url, caFile: at('no') } })],
  ])('refuses %s before it creates anything', async (_, code, more) => {
    const config = file('one.yaml', { role: 'worker', disk, ignition: { url }, ...more() });
    await expect(media([], config)).rejects.toMatchObject({ code });
    expect(readdirSync(at('')).filter((name) => /^\.|iso/.test(name))).toEqual([]);
  });

  it.each([
    ['of OpenSSH', '-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n'],
    [
      'of PuTTY',
      'PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1\nPrivate-Lines: 1\nplanted\n',
    ],
  ])('refuses a private key %s', async (_, text) => {
    const key = file('id', text);
    const failure: unknown = await media(['--ssh-key', key]).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'cli.bad-flag', kind: 'input' });
    expect(String(failure)).not.toContain('planted');
  });

  it('refuses an invalid --authfile', async () => {
    await expect(media(['--authfile', file('auth.json', 'x')])).rejects.toMatchObject({
      code: 'layering.bad-credentials',
    });
  });

  it.each([
    ['no initramfs', [], 'holds no initramfs'],
    ['two initramfs files', ['a-live-initramfs.x86_64.img', 'b-initrd.img'], 'more than one'],
  ])('refuses a directory with %s', async (_, names, message) => {
    mkdirSync(at('pxe'));
    for (const name of names) file(`pxe/${name}`, '');
    const words = ['--pxe', at('pxe'), '--out', at('x.img'), '--image', 'i'];
    await expect(bootwright().run(['media', '--config', host(), ...words])).rejects.toMatchObject({
      code: 'media.no-initramfs',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each(['ssh-rsa AAAAB3Nza a@b', 'no-pty sk-ssh-ed25519@openssh.com AAAAGnNr\r'])(
    'accepts the public key %j',
    async (line) => {
      file('host.iso', '');
      const keys = ['--ssh-key', file('id.pub', `# admins\n${line}\n`)];
      await expect(media(keys)).rejects.toMatchObject({ code: 'media.out-exists' });
    },
  );

  it('refuses an output file that exists', async () => {
    file('host.iso', 'of another host');
    await expect(media()).rejects.toMatchObject({ code: 'media.out-exists', kind: 'input' });
    expect(readFileSync(at('host.iso'), 'utf8')).toBe('of another host');
  });

  it('reports an output path that cannot be written', async () => {
    file('live.iso', '');
    await expect(media(['--out', at('no/such/host.iso')])).rejects.toMatchObject({
      code: 'media.not-made',
      message: expect.stringContaining('no/such/host.iso') as string,
    });
  });
});
