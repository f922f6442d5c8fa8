import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { containerLayer, readSecretFiles, secretsToRead } from './files.ts';

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
  });
});
