import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { layerUser } from '../../../test/layering/layer-command.ts';
import { httpd, machineConfigObject, osConfigObject } from '../../../test/layering/samples.ts';
import type { Fields } from '../../layering/api/schema.ts';
import { writeContext } from './render.ts';

const { at, file, files, layer, out, err } = layerUser();

const contextFiles = [
  'Containerfile',
  'machineconfig',
  'machineconfig/machineconfig.json.gz',
  'openshift-config-user-ca-bundle.crt',
];

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('layer render', () => {
  it('writes the build context, for nobody else to read', async () => {
    const mc = machineConfigObject({ kernelArguments: ['a'] });
    expect(await layer('render', ...files(undefined, mc), '--out', at('deep/out'))).toBe(0);
    expect(readdirSync(at('deep/out'), { recursive: true }).sort()).toEqual(contextFiles);
    expect(readFileSync(at('deep/out/Containerfile'), 'utf8')).toContain('FROM configs AS final\n');
    expect(out()).toContain(`${at('deep/out')}/machineconfig/machineconfig.json.gz\n`);
    expect(err()).toContain('does not include the kernel arguments');
    expect(readdirSync(at('deep'))).toEqual(['out']);
    expect(['', ...contextFiles].map((name) => modeOf(at(`deep/out/${name}`)))).toEqual([
      '700',
      '600',
      '700',
      '600',
      '600',
    ]);
  });

  it('fills an empty folder and leaves it where it is', async () => {
    mkdirSync(at('out'), { mode: 0o755 });
    const before = statSync(at('out')).ino;
    symlinkSync('out', at('link'));
    expect(await layer('render', ...files(), '--out', at('link'))).toBe(0);
    expect(readdirSync(at('out'), { recursive: true }).sort()).toEqual(contextFiles);
    expect(statSync(at('out')).ino).toBe(before);
    expect(modeOf(at('out'))).toBe('700');
  });

  it.each([
    ['a folder that holds something', '', 'is not empty'],
    ['a file', 'os.yaml', 'is not a directory'],
    ['a place below a file', 'os.yaml/out', 'is not a directory'],
  ])('refuses %s as wrong input', async (...[, name, message]) => {
    const words = files();
    await expect(layer('render', ...words, '--out', at(name))).rejects.toMatchObject({
      code: 'layering.folder-taken',
      kind: 'input',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    ['ctx', (path: string) => path],
    ['my ctx', (path: string) => `'${path}'`],
  ])('prints a command that can be pasted for the folder %j', async (name, quoted) => {
    await layer('render', ...files(), '--out', at(name));
    expect(err()).toContain(
      `podman build --tag registry.rig.test/ocl/master:latest ${quoted(at(name))}\n`,
    );
  });

  it.each<[string, object, boolean]>([
    ['a pull secret', { path: '/p', contents: { source: 'data:,%7B%22auths%22:%7B%7D%7D' } }, true],
    [
      'a key',
      { path: '/p', contents: { source: 'data:,-----BEGIN%20RSA%20PRIVATE%20KEY-----' } },
      true,
    ],
    ['a kubeconfig', { path: '/p', contents: { source: 'data:,users:%0A%20token:%20x' } }, true],
    ['a setting', { path: '/p', contents: { source: 'data:,a=b' } }, false],
    ['a remote file', { path: '/p', contents: { source: 'https://example.com' } }, false],
  ])('says whether the folder holds credentials: %s', async (...[, one, isNoted]) => {
    const config = { ignition: { version: '3.5.0' }, storage: { files: [one as Fields] } };
    await layer('render', ...files(undefined, machineConfigObject({ config })), '--out', at('o'));
    expect(err().includes('holds credentials of the MachineConfig')).toBe(isNoted);
    expect(err().includes(': /p\n')).toBe(isNoted);
  });
});

describe('what layer render refuses', () => {
  const refused = async (words: readonly string[]) => {
    const failure: unknown = await layer('render', ...words, '--out', at('o')).catch(
      (error: unknown) => error,
    );
    expect(readdirSync(at(''))).not.toContain('o');
    return failure;
  };

  it('is what layer lint refuses, all of it and with its lines', async () => {
    const text = JSON.stringify(
      osConfigObject({
        renderedImagePushSpec: 'registry.rig.test/OCL/master:latest',
        containerFile: [{ containerfileArch: 'AMD64', content: 'FROM scratch\n' }],
      }),
      undefined,
      1,
    );
    const path = file('lint.yaml', text);
    expect(await layer('lint', path)).toBe(2);
    const linted = out()
      .trim()
      .split('\n')
      .filter((line) => line.includes(': error: '))
      .map((line) => line.replace(': error: ', ': ').replace('lint.yaml', 'os.yaml'));
    expect(linted.length).toBeGreaterThanOrEqual(3);
    expect(await refused(files(text))).toMatchObject({
      code: 'layering.os-config-invalid',
      kind: 'input',
      message: linted.join('; '),
    });
  });

  it.each<[string, Fields, RegExp]>([
    [
      'a member that nobody knows',
      osConfigObject({ containerFiles: [] }),
      /unknown field "spec\.containerFiles"/,
    ],
    ['a fault of the server', osConfigObject({ imageBuilder: {} }), /imageBuilderType: Required/],
  ])('holds %s', async (...[, osConfig, message]) => {
    expect(await refused(files(osConfig))).toMatchObject({
      code: 'layering.os-config-invalid',
      message: expect.stringMatching(message) as string,
    });
  });

  it('does not hold what is only a warning', async () => {
    const content = httpd.replace(' && ostree container commit', '');
    const words = files(osConfigObject({ containerFile: [{ content }] }));
    expect(await layer('render', ...words, '--out', at('o'))).toBe(0);
    expect(err()).toMatch(/^warning: .*os\.yaml:1: nothing checks the image/m);
  });

  it.each([
    ['osImageURL', ' '],
    ['osImageURL', 'registry.rig.test/os:1\nRUN evil'],
    ['osImageURL', 'registry.rig.test/os:1\n'],
    ['osImageURL', 'registry.rig.test/OS:1'],
    ['baseOSExtensionsContainerImage', 'a b'],
    ['baseOSExtensionsContainerImage', 7],
  ])('holds a MachineConfig with %s %j', async (member, value) => {
    const mc = JSON.stringify(machineConfigObject({ [member]: value }), undefined, 1);
    const line = mc.split('\n').findIndex((text) => text.includes(`"${member}"`)) + 1;
    expect(await refused(files(undefined, mc))).toMatchObject({
      code: 'layering.machine-config-invalid',
      message: expect.stringMatching(
        new RegExp(String.raw`mc\.yaml:${line}: spec\.${member} is .*not the name of an image`),
      ) as string,
    });
  });
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-context-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The second cannot be written, as there is no folder of that name. */
const half = [
  { path: 'a', content: 'x' },
  { path: 'a/b', content: 'x' },
];

const all = (): readonly string[] => readdirSync(folder, { recursive: true }).map(String).sort();

describe('writeContext', () => {
  it.each([
    ['a folder that is not there', 'out'],
    ['one in folders that are not there', 'deep/er/out'],
    ['an empty folder', 'empty'],
  ])('leaves nothing of half a context in %s', async (_, name) => {
    mkdirSync(join(folder, 'empty'));
    await expect(writeContext(join(folder, name), half)).rejects.toMatchObject({
      code: 'layering.not-written',
      kind: 'host',
      message: `${join(folder, name)} cannot be written`,
    });
    expect(all()).toEqual(['empty']);
  });

  it('leaves nothing beside what it writes', async () => {
    await writeContext(join(folder, 'out'), [
      { path: 'a', content: 'x' },
      { path: 'b/c', content: 'y' },
    ]);
    expect(all()).toEqual(['out', 'out/a', 'out/b', 'out/b/c']);
  });
});
