import { describe, expect, it } from 'vitest';
import { layerUser } from '../../../test/layering/layer-command.ts';
import {
  images,
  machineConfigObject,
  osConfigObject,
  pool,
} from '../../../test/layering/samples.ts';
import type { Fields } from '../../layering/api/schema.ts';

const { file, layer, out, err } = layerUser();

const poolObject = (sources = pool().configuration.source): object => ({
  kind: 'MachineConfigPool',
  metadata: { name: 'master' },
  spec: { configuration: { ...pool().configuration, source: sources } },
});

/** The MachineConfig that the pool names. */
const rendered = (name = pool().configuration.name): Fields => {
  const object = machineConfigObject();
  return { ...object, metadata: { ...(object['metadata'] as Fields), name } };
};

const configMap = (name: string, data: object = images): Fields => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { ...data },
});

interface NameFiles {
  readonly osConfig?: unknown;
  readonly poolFile?: unknown;
  readonly imagesFile?: unknown;
}

const name = ({
  osConfig = osConfigObject(),
  poolFile = poolObject(),
  imagesFile = images,
}: NameFiles = {}): Promise<number> =>
  layer(
    'name',
    ...['--os-config', file('os.yaml', osConfig)],
    ...['--pool', file('pool.json', poolFile), '--images', file('images.yaml', imagesFile)],
  );

const seen = 'master-b3ffe60c1714f15a7c675f2d775b5940\n';

describe('layer name', () => {
  it.each([
    ['the four fields', images],
    ['the rendered MachineConfig', rendered()],
    ['the ConfigMap', configMap('machine-config-osimageurl')],
  ])('prints the name that the cluster chooses, from %s', async (_, imagesFile) => {
    expect(await name({ imagesFile })).toBe(0);
    expect({ out: out(), err: err() }).toEqual({ out: seen, err: '' });
  });

  it('doubts the pool file of a bootstrap host', async () => {
    await name({ poolFile: poolObject([...pool().configuration.source].reverse()) });
    expect(err()).toMatch(/^note: the sources of pool master are not sorted/);
  });

  it('doubts a ConfigMap of another name', async () => {
    expect(await name({ imagesFile: configMap('mine') })).toBe(0);
    expect(err()).toMatch(
      /^note: .*images\.yaml:1: the operator reads the ConfigMap machine-config-osimageurl, not mine$/m,
    );
  });

  it.each([
    [{ kind: 'Secret' }, /expected a MachineConfigPool, this is another kind/],
    ['', /expected a MachineConfigPool, the file is empty/],
  ])('refuses %j for a pool', async (poolFile, message) => {
    await expect(name({ poolFile })).rejects.toMatchObject({
      code: 'layering.wrong-object',
      message: expect.stringMatching(message) as string,
    });
  });

  it('refuses a MachineConfig that the pool is not configured by, and names both', async () => {
    const other = `rendered-master-${'0'.repeat(32)}`;
    await expect(name({ imagesFile: rendered(other) })).rejects.toMatchObject({
      code: 'layering.wrong-object',
      message: expect.stringContaining(
        `the MachineConfig is ${other}, but pool master uses ${pool().configuration.name}`,
      ) as string,
    });
  });
});

describe('the four fields of layer name', () => {
  const text = (fields: object): string =>
    Object.entries(fields)
      .map(([key, value]) => `${key}: '${String(value)}'\n`)
      .join('');
  const { osImageURL, ...three } = images;

  it.each([
    [text({ ...three, osImageUrl: osImageURL }), /:4: osImageUrl is not one .* mean osImageURL$/],
    [text({ ...images, extra: 'x' }), /:5: extra is not one of the fields$/],
    [text(three), /: osImageURL is missing; write osImageURL: ''/],
    ['kind: Secret\n', /:1: a Secret is neither a ConfigMap nor a MachineConfig/],
    [`${text(three)}osImageURL: 7\n`, /:4: osImageURL is not a string/],
  ])('are refused as %j', async (imagesFile, message) => {
    await expect(name({ imagesFile })).rejects.toMatchObject({
      code: 'layering.wrong-object',
      message: expect.stringMatching(message) as string,
    });
  });

  it('may be empty, and written as Go writes them', async () => {
    const goNames = {
      BaseOSContainerImage: images.baseOSContainerImage,
      BaseOSExtensionsContainerImage: images.baseOSExtensionsContainerImage,
      OSImageURL: '',
      ReleaseVersion: images.releaseVersion,
    };
    await name({ imagesFile: text(goNames) });
    expect(out()).toBe(seen);
  });
});

describe('a MachineOSConfig that layer name', () => {
  const long = 'm'.repeat(30);
  it.each<[string, Fields, RegExp]>([
    [
      'the server does not take',
      osConfigObject({ imageBuilder: { imageBuilderType: 'Pod' } }),
      /os\.yaml:1: spec\.imageBuilder\.imageBuilderType: Unsupported/,
    ],
    [
      'the operator cannot read the place of',
      osConfigObject({ renderedImagePushSpec: 'registry.rig.test/OCL/master:latest' }),
      /cannot read registry\.rig\.test\/OCL/,
    ],
    [
      'the operator cannot label the build of',
      osConfigObject({ machineConfigPool: { name: long } }, long),
      /longer than a label may be/,
    ],
  ])('refuses is one that %s', async (...[, osConfig, message]) => {
    await expect(name({ osConfig })).rejects.toMatchObject({
      code: 'layering.os-config-invalid',
      message: expect.stringMatching(message) as string,
    });
    expect(out()).toBe('');
  });

  it.each<[string, Fields, RegExp]>([
    [
      'a file for one architecture',
      { containerFile: [{ containerfileArch: 'AMD64', content: 'FROM configs AS final\n' }] },
      /only the entry for NoArch/,
    ],
    [
      'a place that no status takes',
      { renderedImagePushSpec: 'registry.rig.test/a/b/c:latest' },
      /could not be used/,
    ],
    ['a text that cannot be built', { containerFile: [{ content: 'FORM x\n' }] }, /FORM is no/],
  ])('names with a warning has %s', async (...[, spec, message]) => {
    expect(await name({ osConfig: osConfigObject(spec) })).toBe(0);
    expect(out()).toMatch(/^master-[0-9a-f]{32}\n$/);
    expect(err()).toMatch(message);
    expect(err()).toMatch(/^(?:warning: .*\n)+$/);
  });
});
