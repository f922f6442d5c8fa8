import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { containerLayer, findUnopened, readSecretFiles, secretsToRead } from './files.ts';
import { checkConfig } from './load.ts';
import type { SettingKey } from './settings.ts';

const file = (image: string): string =>
  [
    'engine="podman-5.4.0"',
    'name="assisted-installer"',
    'id="0b1c"',
    `image="${image}"`,
    'imageid="sha256:77aa"',
    'rootless=0',
    'graphRootMounted=1',
    '',
  ].join('\n');

describe('what a container tells of itself', () => {
  it.each([
    ['quay.io/bootwright/bootwright:v1', 'quay.io/bootwright/bootwright:v1'],
    ['registry.example:5000/b@sha256:00ff', 'registry.example:5000/b@sha256:00ff'],
  ])('is its image %s', (image, value) => {
    expect([...containerLayer(file(image))]).toEqual([
      ['images.self', { value, origin: 'container' }],
    ]);
  });

  it.each([
    ['an unprivileged container', ''],
    ['an image that is only on this host', file('localhost/bootwright:latest')],
    ['an image without a name', file('')],
    ['another file', 'imageid="x"\nimage=quay.io/b'],
  ])('is nothing for %s', (_, text) => {
    expect(containerLayer(text).size).toBe(0);
  });
});

describe('secretsToRead', () => {
  it('names the file of a secret that nothing else gives', () => {
    const given = new Map([['service.tokenFile', { value: '/t', origin: 'flag' }] as const]);
    expect(secretsToRead(given)).toEqual([{ key: 'service.token', path: '/t', origin: 'flag' }]);
  });

  it('leaves the file alone when the environment gives the secret', () => {
    const given = new Map([
      ['service.tokenFile', { value: '/t', origin: 'flag' }] as const,
      ['service.token', { value: new Secret('x'), origin: 'environment' }] as const,
    ]);
    expect(secretsToRead(given)).toEqual([]);
  });

  it('is read from the file as from a variable', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'bootwright-secrets-'));
    const path = join(folder.path, 'token');
    const given = new Map([['service.tokenFile', { value: path, origin: 'flag' }] as const]);
    await writeFile(path, 'abc\n');
    const { value, origin } = (await readSecretFiles([given])).get('service.token') ?? {};
    expect([(value as Secret).reveal(), origin]).toEqual(['abc', `file ${path}`]);
    await writeFile(path, 'abc\ndef\n');
    await expect(readSecretFiles([given])).rejects.toMatchObject({ code: 'config.invalid-value' });
  });
});

describe('findUnopened', () => {
  const folder = import.meta.dirname;
  const none = `${folder}/none`;
  const find = (settings: Partial<Record<SettingKey, unknown>>, known: readonly string[] = []) => {
    const entries = Object.entries(settings) as [SettingKey, unknown][];
    const layer = new Map(entries.map(([key, value]) => [key, { value, origin: 'a test' }]));
    return findUnopened(checkConfig([layer]), new Set(known));
  };

  it.each<[SettingKey, boolean]>([
    ['image.file', true],
    ['image.stream', true],
    ['network.keyfiles', true],
    ['registries.ca', true],
    ['ignition.file', true],
    ['ignition.caFile', true],
    ['service.caFile', false],
    ['service.tokenFile', false],
    ['s3.secretAccessKeyFile', false],
  ])('names the file of %s that cannot be opened', async (key, isOfHost) => {
    const said = `a test: ${key}: ${none} cannot be opened here (ENOENT)`;
    const more = '; an install opens it on the host';
    expect(await find({ [key]: none })).toEqual([isOfHost ? said + more : said]);
    expect(await find({ [key]: none }, [none])).toEqual([]);
    expect(await find({ [key]: `${folder}/files.ts` })).toEqual([]);
  });

  it('looks below the root of the host for what is of the host', async () => {
    const settings = { 'host.root': folder, 'image.file': '/files.ts' };
    expect(await find(settings)).toEqual([]);
    expect(await find({ ...settings, 'service.caFile': '/files.ts' })).toHaveLength(1);
  });

  it('opens folders, and no address', async () => {
    expect(await find({ 'network.keyfiles': folder, 'image.stream': 'http://h/s.json' })).toEqual(
      [],
    );
  });

  it('opens what arguments of coreos-installer name', async () => {
    const args = ['--config-file', none, '--append-karg', '/no', '-f', folder];
    expect(await find({ 'image.writerArgs': args })).toEqual([
      expect.stringMatching(/^a test: image\.writerArgs: \/.*none cannot be opened here/),
    ]);
  });
});
