import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { baseDigest, builtDigest, laneHost } from '../../../test/layering/lane-host.ts';
import { layerUser } from '../../../test/layering/layer-command.ts';
import { machineConfig, osConfig, osConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { buildAndPush } from './build.ts';
import { type ImagePlace, placeOnHost, prepareRunRoot, storeIn } from './image-place.ts';

const { at, file, files, layer } = layerUser();

/** Expects a command to fail with a code and these words. */
const expectRefusal = (command: Promise<unknown>, code: string, words: string): Promise<void> =>
  expect(command).rejects.toMatchObject({
    code,
    kind: 'input',
    message: expect.stringContaining(words) as string,
  });

/**
 * These commands fail before they look for a program, because a unit test must not start a
 * process.
 */
describe('layer build', () => {
  it.each([
    ['does not exist', 'config.file-not-read', undefined],
    ['is not a pull secret', 'layering.bad-credentials', '[]'],
  ])('refuses an --authfile that %s', async (...[, code, content]) => {
    if (content !== undefined) file('auth.json', content);
    const words = [...files(), '--authfile', at('auth.json'), '--storage', at('s')];
    await expectRefusal(layer('build', ...words), code, 'auth.json');
  });

  it('refuses a MachineOSConfig that lint refuses', async () => {
    const osConfig = osConfigObject({ imageBuilder: { imageBuilderType: 'Pod' } });
    await expectRefusal(
      layer('build', ...files(osConfig)),
      'layering.os-config-invalid',
      'spec.imageBuilder.imageBuilderType: ',
    );
  });

  it.each(['--on-host', '--digestfile=/x'])('refuses %s without --push-authfile', async (flag) => {
    await expectRefusal(
      layer('build', ...files(), flag),
      'cli.bad-flag',
      'what is built would be lost',
    );
  });

  // The command checks these credentials after it has read the other files.
  it.each([
    ['.dockerconfigjson', '{"auths":{}}'],
    ['.dockercfg', '{"r.test":{}}'],
  ])('reads %s of a mounted Secret', async (key, good) => {
    mkdirSync(at('pull'));
    mkdirSync(at('push'));
    file(`pull/${key}`, good);
    file(`push/${key}`, '[');
    const words = [...files(), '--authfile', at('pull'), '--push-authfile', at('push')];
    await expectRefusal(layer('build', ...words), 'layering.bad-credentials', at(`push/${key}`));
  });

  it('reads compressed objects', async () => {
    const [osFlag = '', osFile = '', renderedFlag = '', renderedFile = ''] = files();
    for (const path of [osFile, renderedFile]) writeFileSync(path, gzipSync(readFileSync(path)));
    const words = [osFlag, osFile, renderedFlag, renderedFile, '--authfile', file('a.json', '[]')];
    await expectRefusal(layer('build', ...words), 'layering.bad-credentials', 'a.json');
  });
});

it('storeIn derives a stable run root that is distinct for each store', () => {
  const { storage, run } = storeIn('/a');
  expect(storage).toBe('/a');
  expect(run).toMatch(/\/bootwright-\d+-[0-9a-f]{12}$/);
  expect(storeIn('/a').run).toBe(run);
  expect(storeIn('/b').run).not.toBe(run);
});

describe('prepareRunRoot', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootwright-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('creates it for its owner only and accepts it again', async () => {
    const run = join(folder, 's/run');
    await prepareRunRoot(run);
    await prepareRunRoot(run);
    expect(lstatSync(run).mode & 0o777).toBe(0o700);
  });

  it.each<[string, (run: string) => void]>([
    [
      'a world-writable folder',
      (run) => {
        mkdirSync(run);
        chmodSync(run, 0o777);
      },
    ],
    ['a symbolic link', (run) => symlinkSync(folder, run)],
  ])('refuses %s', async (_, make) => {
    const run = join(folder, 'run');
    make(run);
    await expect(prepareRunRoot(run)).rejects.toMatchObject({ code: 'layering.store-taken' });
  });
});

describe('placeOnHost', () => {
  const clearedFor = async (storage?: string): Promise<readonly (string | undefined)[]> => {
    const host = fakeHost().on(['rm', rest]).succeeds().on(['install', rest]).succeeds();
    const call = { environment: {}, ...(storage !== undefined && { storage }) };
    const { signal } = new AbortController();
    await (await placeOnHost(call, signal, () => Promise.resolve(host)))[Symbol.asyncDispose]();
    return host.ran.filter(([program]) => program === 'rm').map((argv) => argv.at(-1));
  };

  it('empties its own folder before and after', async () => {
    const [scratch, all] = ['/var/lib/bootwright-build/scratch', '/var/lib/bootwright-build'];
    expect(await clearedFor()).toEqual([scratch, all, scratch, all]);
  });

  it('removes nothing else from the directory of --storage', async () => {
    for (const path of await clearedFor('/var/lib/containers')) {
      expect(path).toMatch(/^\/var\/lib\/containers\/bootwright-build/);
    }
  });
});

/** A host whose registry returns the digests of the base and of the built image. */
const machine = (): FakeHost =>
  laneHost()
    .on(['skopeo', 'inspect', '--no-tags', rest])
    .answers((argv) => (argv.at(-1)?.includes(':base-') === true ? baseDigest : builtDigest));

const place = (host: FakeHost, pushAccess: ImagePlace['pushAccess']): ImagePlace => ({
  work: {
    host,
    clock: fakeClock(),
    signal: new AbortController().signal,
    progress: () => undefined,
    alive: () => undefined,
    note: () => undefined,
  },
  store: { storage: '/s', run: '/r' },
  scratch: '/scratch',
  buildArguments: [],
  access: { authFile: '/pull' },
  pushAccess,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
const made = { config: osConfig(), machineConfig: machineConfig() };
const sentBy = (host: FakeHost) =>
  host.ran.filter((argv) => argv.includes('push') || argv.includes('copy'));

describe('buildAndPush', () => {
  it('pushes the base and then the built image with the credentials for pushing', async () => {
    const host = machine();
    const { pushed } = await buildAndPush(place(host, { authFile: '/push' }), made);
    expect(pushed).toEqual({
      digest: builtDigest,
      pullSpec: `registry.rig.test/ocl/master@${builtDigest}`,
    });
    const sent = sentBy(host);
    expect(sent.map((argv) => argv.at(-1))).toEqual([
      `docker://registry.rig.test/ocl/master:base-${baseDigest.slice(7, 39)}`,
      'docker://registry.rig.test/ocl/master:latest',
    ]);
    expect(sent[0]?.join(' ')).toContain('--src-authfile /pull --dest-authfile /push');
    expect(sent[1]?.join(' ')).toContain('--authfile /push');
  });

  it('pushes nothing without credentials for pushing', async () => {
    const host = machine();
    const { name, pushed } = await buildAndPush(place(host, undefined), made);
    expect(name).toMatch(/^localhost\/bootwright\/os-master:rendered-master-/);
    expect(pushed).toBeUndefined();
    expect(sentBy(host)).toEqual([]);
  });
});
