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
import { httpd, machineConfig, osConfig, osConfigObject } from '../../../test/layering/samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { builtFrom, builtFromLabel, planBuild } from '../../layering/build/build-plan.ts';
import { type ImageJob, pushBuilt } from './build.ts';
import { prepareRunRoot, storeIn } from './image-place.ts';

const { at, file, files, layer } = layerUser();

/** A failure in any of these comes before a program is looked for; a process in a unit test is an error of its own. */
describe('layer build', () => {
  it.each([
    ['is not there', 'config.file-not-read', undefined],
    ['is no pull secret', 'layering.bad-credentials', '[]'],
  ])('refuses credentials in a file that %s', async (...[, code, content]) => {
    if (content !== undefined) file('auth.json', content);
    const words = [...files(), '--authfile', at('auth.json'), '--storage', at('s')];
    await expect(layer('build', ...words)).rejects.toMatchObject({
      code,
      kind: 'input',
      message: expect.stringContaining('auth.json') as string,
    });
  });

  it('refuses what lint refuses', async () => {
    const osConfig = osConfigObject({ imageBuilder: { imageBuilderType: 'Pod' } });
    await expect(layer('build', ...files(osConfig))).rejects.toMatchObject({
      code: 'layering.os-config-invalid',
      message: expect.stringContaining('spec.imageBuilder.imageBuilderType: ') as string,
    });
  });
});

describe('layer build', () => {
  it.each(['--on-host', '--digestfile=/x'])('refuses %s without --push-authfile', async (flag) => {
    await expect(layer('build', ...files(), flag)).rejects.toMatchObject({
      code: 'cli.bad-flag',
      message: expect.stringContaining('what is built would be lost') as string,
    });
  });

  /** What is refused comes once the other files were read. */
  const refused = { code: 'layering.bad-credentials' };

  it.each([
    ['.dockerconfigjson', '{"auths":{}}', '.dockerconfigjson'],
    ['.dockercfg', '{"r.test":{}}', '.dockercfg'],
  ])('takes %s of a mounted Secret', async (key, good, named) => {
    mkdirSync(at('pull'));
    mkdirSync(at('push'));
    file(`pull/${key}`, good);
    file(`push/${key}`, '[');
    const words = [...files(), '--authfile', at('pull'), '--push-authfile', at('push')];
    await expect(layer('build', ...words)).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining(at(`push/${named}`)) as string,
    });
  });

  it('reads objects that are packed', async () => {
    const [osFlag = '', osFile = '', renderedFlag = '', renderedFile = ''] = files();
    for (const path of [osFile, renderedFile]) writeFileSync(path, gzipSync(readFileSync(path)));
    const words = [osFlag, osFile, renderedFlag, renderedFile, '--authfile', file('a.json', '[]')];
    await expect(layer('build', ...words)).rejects.toMatchObject(refused);
  });
});

const deep = `/srv/${'d'.repeat(50)}`;

describe('storeIn', () => {
  it.each([
    ['/s', '/run/user/1', /^\/run\/user\/1\/bootwright\/[0-9a-f]{12}$/],
    ['/s', '', /^\/s\/run$/],
    [deep, '/run/user/1', /^\/run\/user\/1\/bootwright\/[0-9a-f]{12}$/],
    ['/s', `/run/${'u'.repeat(50)}`, /^\/s\/run$/],
    [deep, '', /\/bootwright-\d+-[0-9a-f]{12}$/],
  ])('puts the run root of %s where it is short enough: %s', (folder, session, expected) => {
    const environment = session === '' ? {} : { XDG_RUNTIME_DIR: session };
    const store = storeIn(folder, environment);
    expect(store.storage).toBe(folder);
    expect(store.run).toMatch(expected);
    expect(store.run.length).toBeLessThanOrEqual(50);
    expect(storeIn(folder, environment)).toEqual(store);
  });

  it('keeps the run roots of two stores apart', () => {
    const environment = { XDG_RUNTIME_DIR: '/run/user/1' };
    expect(storeIn('/a', environment).run).not.toBe(storeIn('/b', environment).run);
  });
});

describe('prepareRunRoot', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bootwright-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('makes it for its owner alone, and takes it again', async () => {
    const run = join(folder, 's/run');
    await prepareRunRoot({ storage: folder, run });
    await prepareRunRoot({ storage: folder, run });
    expect(lstatSync(run).mode & 0o777).toBe(0o700);
  });

  it.each([
    [
      'a folder that others can write to',
      (run: string) => {
        mkdirSync(run);
        chmodSync(run, 0o777);
      },
    ],
    [
      'a link',
      (run: string) => {
        symlinkSync(folder, run);
      },
    ],
  ])('refuses %s', async (_, make) => {
    const run = join(folder, 'run');
    make(run);
    await expect(prepareRunRoot({ storage: folder, run })).rejects.toMatchObject({
      code: 'layering.store-taken',
    });
  });
});

const config = osConfig();
const sum = builtFrom(planBuild({ config, machineConfig: machineConfig() }), machineConfig());

/** A machine whose store has an image with these labels. */
const machine = (labels: object): FakeHost => {
  const host = laneHost();
  host.on(['skopeo', 'inspect', '--config', any]).answers((argv) => {
    const isLocal = argv.at(-1)?.startsWith('containers-storage:') === true;
    return JSON.stringify({ architecture: 'amd64', config: { Labels: isLocal ? labels : {} } });
  });
  host
    .on(['skopeo', 'inspect', '--no-tags', rest])
    .answers((argv) => (argv.at(-1)?.includes(':base-') === true ? baseDigest : builtDigest));
  return host;
};

const job = (host: FakeHost, more: Partial<ImageJob> = {}): ImageJob => ({
  work: {
    host,
    clock: fakeClock(),
    signal: new AbortController().signal,
    buildArguments: [],
    progress: () => undefined,
    alive: () => undefined,
    note: () => undefined,
  },
  config,
  machineConfig: machineConfig(),
  builder: { name: 'podman', store: { storage: '/s', run: '/r' } },
  scratch: '/scratch',
  access: {},
  mirrors: {},
  ...more,
});

/** What went to a registry, in order. */
const sent = ({ ran }: FakeHost): readonly string[] =>
  ran
    .filter((argv) => argv.includes('push') || argv.includes('copy'))
    .map((argv) => argv.at(-1) ?? '');

describe('pushBuilt', () => {
  it('pushes what was built of these files, behind its base', async () => {
    const host = machine({ [builtFromLabel]: sum });
    expect(await pushBuilt(job(host))).toEqual({
      digest: builtDigest,
      pullSpec: `registry.rig.test/ocl/master@${builtDigest}`,
    });
    expect(sent(host)).toEqual([
      `docker://registry.rig.test/ocl/master:base-${baseDigest.slice(7, 39)}`,
      'docker://registry.rig.test/ocl/master:latest',
    ]);
  });

  it('pushes with other credentials than it pulls with', async () => {
    const host = machine({ [builtFromLabel]: sum });
    const change = { access: { authFile: '/pull' }, pushAccess: { authFile: '/push' } };
    await pushBuilt(job(host, change));
    const copy = host.ran.find((argv) => argv.includes('copy')) ?? [];
    expect(copy.join(' ')).toContain('--src-authfile /pull --dest-authfile /push');
    expect(host.ran.find((argv) => argv.includes('push'))?.join(' ')).toContain('--authfile /push');
  });

  it.each<[string, FakeHost, Partial<ImageJob>, RegExp]>([
    [
      'after an edit of the Containerfile',
      machine({ [builtFromLabel]: sum }),
      { config: osConfig({ containerFile: [{ content: `${httpd}# more\n` }] }) },
      /was built from another Containerfile/,
    ],
    [
      'of another MachineConfig by the same name',
      machine({ [builtFromLabel]: sum }),
      { machineConfig: machineConfig({ kernelArguments: ['a'] }) },
      /was built from another/,
    ],
    ['that does not say of what it was built', machine({}), {}, /was built from another/],
  ])('sends nothing %s', async (...[, host, change, message]) => {
    await expect(pushBuilt(job(host, change))).rejects.toMatchObject({
      code: 'layering.not-built',
      kind: 'input',
      message: expect.stringMatching(message) as string,
      hint: expect.stringContaining('build it again: bootwright layer build') as string,
    });
    expect(sent(host)).toEqual([]);
  });

  it.each([
    [
      'layering.not-built',
      'reference "[overlay@/s+/r]localhost/x:y" does not resolve to an image ID: identifier is not an image',
    ],
    ['layering.image-unreadable', 'overlay is not supported over overlayfs'],
  ])('sends nothing where there is no image that can be read: %s', async (code, stderr) => {
    const host = laneHost();
    host.on(['skopeo', 'inspect', '--config', any]).fails(1, stderr);
    await expect(pushBuilt(job(host))).rejects.toMatchObject({ code });
    expect(sent(host)).toEqual([]);
  });
});
