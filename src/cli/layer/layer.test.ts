import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  images,
  machineConfigObject,
  osConfigObject,
  pool,
} from '../../../test/layering/samples.ts';
import { parseCommand } from '../parse-command.ts';

let folder: string;
let printed: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bootwright-layer-'));
  printed = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed.push(`! ${String(text)}`);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const file = (name: string, content: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

const layer = async (...words: readonly string[]): Promise<number> => {
  const run = await parseCommand({ command: 'layer', words, environment: {} });
  return run();
};

const poolObject = (sources = pool().configuration.source): object => ({
  kind: 'MachineConfigPool',
  metadata: { name: 'master' },
  spec: { configuration: { ...pool().configuration, source: sources } },
});

describe('layer lint', () => {
  it('says nothing and ends with 0 when all is well', async () => {
    expect(await layer('lint', file('a.json', osConfigObject()))).toBe(0);
    expect(printed).toEqual([]);
  });

  it('prints a line for each finding of each file and ends with 2', async () => {
    const broken = file('b.json', osConfigObject({ imageBuilder: { imageBuilderType: 'Pod' } }));
    const containerfile = file('Containerfile', 'FROM configs AS final\nCOPY x /opt/x\n');
    expect(await layer('lint', broken, containerfile)).toBe(2);
    expect(printed.join('').trimEnd().split('\n')).toEqual([
      expect.stringMatching(/b\.json:1: error: spec\.imageBuilder\.imageBuilderType: Unsupported/),
      expect.stringMatching(/Containerfile:2: warning: nothing checks the image/),
      expect.stringMatching(/Containerfile:2: error: \/opt\/x will not be on the machines/),
    ]);
  });

  it('ends with 0 when there are warnings alone', async () => {
    expect(await layer('lint', file('Containerfile', 'FROM configs AS final\nRUN x\n'))).toBe(0);
    expect(printed.join('')).toContain('warning');
  });

  it('names a file that cannot be read', async () => {
    await expect(layer('lint', join(folder, 'none'))).rejects.toMatchObject({
      code: 'config.file-not-read',
      message: expect.stringContaining('none') as string,
    });
  });
});

describe('layer render', () => {
  const files = (spec = {}): readonly string[] => [
    '--os-config',
    file('os.yaml', osConfigObject()),
    '--rendered-config',
    file('mc.json', machineConfigObject(spec)),
  ];

  it('writes the build context', async () => {
    const out = join(folder, 'deep/out');
    expect(await layer('render', ...files({ kernelArguments: ['a'] }), '--out', out)).toBe(0);
    expect(readdirSync(out, { recursive: true }).sort()).toEqual([
      'Containerfile',
      'machineconfig',
      'machineconfig/machineconfig.json.gz',
      'openshift-config-user-ca-bundle.crt',
    ]);
    expect(readFileSync(join(out, 'Containerfile'), 'utf8')).toContain('FROM configs AS final\n');
    expect(printed.join('')).toContain('podman build');
    expect(printed.join('')).toContain('kernel arguments are set on each machine');
  });

  it('leaves a folder alone that holds something', async () => {
    const before = [...files(), '--out', folder];
    await expect(layer('render', ...before)).rejects.toMatchObject({
      code: 'layering.not-written',
      message: expect.stringContaining('is not empty') as string,
    });
  });

  it('refuses a place that is no folder', async () => {
    const out = file('taken', 'x');
    await expect(layer('render', ...files(), '--out', out)).rejects.toMatchObject({
      code: 'layering.not-written',
    });
  });
});

describe('layer name', () => {
  const name = (poolFile: unknown, imagesFile: unknown) =>
    layer(
      'name',
      ...['--os-config', file('os.yaml', osConfigObject())],
      ...['--pool', file('pool.json', poolFile), '--images', file('images.json', imagesFile)],
    );

  it.each([
    ['the four fields', images],
    ['the rendered MachineConfig', machineConfigObject()],
  ])('prints the name that the cluster chooses, from %s', async (_, imagesFile) => {
    expect(await name(poolObject(), imagesFile)).toBe(0);
    expect(printed).toEqual(['master-b3ffe60c1714f15a7c675f2d775b5940\n']);
  });

  it('doubts the pool file of a bootstrap host', async () => {
    await name(poolObject([...pool().configuration.source].reverse()), images);
    expect(printed[0]).toMatch(/^! note: the sources of pool master are not sorted/);
  });

  it.each([
    [{ kind: 'Secret' }, /a MachineConfigPool is expected, this is of another kind/],
    ['', /a MachineConfigPool is expected, this is empty/],
  ])('refuses %j for a pool', async (poolFile, message) => {
    await expect(name(poolFile, images)).rejects.toMatchObject({
      code: 'layering.wrong-object',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('the command line of layer', () => {
  it.each([
    [['lint'], 'cli.bad-flag'],
    [['render', '--os-config', 'a'], 'cli.bad-flag'],
    [['name', '--url', 'x'], 'cli.bad-flag'],
    [['build', '--os-config', 'a'], 'cli.bad-flag'],
    [['push'], 'cli.bad-flag'],
    [['burn'], 'cli.unknown-command'],
    [[], 'cli.unknown-command'],
  ])('refuses %j', async (words, code) => {
    await expect(layer(...words)).rejects.toMatchObject({ code });
  });
});
