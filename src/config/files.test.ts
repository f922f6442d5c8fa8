import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Secret } from '../model/secret.ts';
import { containerLayer, readSecretFiles } from './files.ts';
import type { Layer } from './settings.ts';

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

describe('containerLayer', () => {
  it.each([
    ['quay.io/bootwright/bootwright:v1', 'quay.io/bootwright/bootwright:v1'],
    ['registry.example:5000/b@sha256:00ff', 'registry.example:5000/b@sha256:00ff'],
  ])('reads the image %s', (image, value) => {
    expect([...containerLayer(file(image))]).toEqual([
      ['images.self', { value, origin: 'container' }],
    ]);
  });

  it.each([
    ['an empty file of an unprivileged container', ''],
    ['a local image', file('localhost/bootwright:latest')],
    ['an image without a name', file('')],
    ['a file of another format', 'imageid="x"\nimage=quay.io/b'],
  ])('is empty for %s', (_, text) => {
    expect(containerLayer(text).size).toBe(0);
  });
});

describe('readSecretFiles', () => {
  const readBeside = async (more: Layer) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'bootwright-secrets-'));
    const path = join(folder.path, 'token');
    await writeFile(path, 'abc\n');
    const given: Layer = new Map([['service.tokenFile', { value: path, origin: 'flag' }]]);
    const read = await readSecretFiles([given, more]);
    const { value, origin } = read.get('service.token') ?? {};
    return [(value as Secret | undefined)?.reveal(), origin === `file ${path}`];
  };

  it('reads the secret from its file, without the line break', async () => {
    expect(await readBeside(new Map())).toEqual(['abc', true]);
  });

  it('shows no secret that stands where its file is meant', async () => {
    const given: Layer = new Map([
      ['service.tokenFile', { value: '/c/hidden.token', origin: 'file /c/c.yaml:3' }],
    ]);
    const failure: unknown = await readSecretFiles([given]).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'config.file-not-read',
      message: 'file /c/c.yaml:3: the file of service.token cannot be read',
      cause: new Error('ENOENT'),
    });
    expect(inspect(failure)).not.toContain('hidden');
  });

  it('does not read the file when the environment sets the secret', async () => {
    const given = { value: new Secret('x'), origin: 'environment' };
    expect(await readBeside(new Map([['service.token', given]]))).toEqual([undefined, false]);
  });
});
