import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Fields } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';
import { goYaml } from './go-yaml.ts';
import type { MachineConfigPool, PoolReference } from './machine-config-pool.ts';
import { type MachineConfig, releaseVersionKey } from './machine-config.ts';
import type { MachineOSConfig } from './os-config.ts';

/**
 * Salt of the hash, a constant of the Machine Config Operator (`pkg/controller/render/hash.go`). 80
 * bytes with SHA-256 aafce7669756d588db0a3588f252e4f40df4a89355218b519f52be2a4cd89aac.
 */
export const hashSalt: Uint8Array = Uint8Array.from([
  16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110, 25, 93, 47, 253, 172,
  106, 37, 7, 174, 13, 160, 185, 110, 17, 87, 52, 219, 131, 12, 206, 218, 141, 116, 135, 188, 181,
  192, 151, 233, 62, 126, 165, 64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188,
  238, 26, 33, 26, 235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
]);

/** The objects from which the name of a build is made. */
export interface BuildInputs {
  readonly config: MachineOSConfig;
  readonly pool: MachineConfigPool;
  readonly images: OSImages;
}

/**
 * The name that the cluster's builder gives the MachineOSBuild of these inputs: the name of the
 * MachineOSConfig and an MD5 over the salt, the configuration of the pool, the spec of the
 * MachineOSConfig and the images, each as YAML of the operator's library
 * (`pkg/controller/build/buildrequest/machineosbuild.go`).
 * @throws AgentError `layering.pools-differ`, `layering.no-name`
 */
export function buildName(inputs: BuildInputs): string {
  const { config, pool } = inputs;
  if (config.spec.machineConfigPool.name !== pool.name) {
    throw layeringFailure(
      'layering.pools-differ',
      `the MachineOSConfig is for pool ${config.spec.machineConfigPool.name}, the MachineConfigPool is ${pool.name}`,
    );
  }
  const hash = createHash('md5').update(hashSalt);
  for (const text of hashedTexts(inputs)) hash.update(text, 'utf8');
  return `${config.name}-${hash.digest('hex')}`;
}

/** The three hashed texts; a missing list of files is null, as Go writes it. */
export function hashedTexts({ config, pool, images }: BuildInputs): readonly string[] {
  const { spec } = config;
  const { source, ...rendered } = pool.configuration;
  return [
    {
      ...referenceFields(rendered),
      source: source.length === 0 ? undefined : source.map(referenceFields),
    },
    {
      baseImagePullSecret: spec.baseImagePullSecret,
      containerFile:
        spec.containerFile?.map(({ containerfileArch, content }) => ({
          containerfileArch: present(containerfileArch),
          content,
        })) ?? null,
      imageBuilder: spec.imageBuilder,
      machineConfigPool: spec.machineConfigPool,
      renderedImagePushSecret: spec.renderedImagePushSecret,
      renderedImagePushSpec: spec.renderedImagePushSpec,
    },
    {
      BaseOSContainerImage: images.baseOSContainerImage,
      BaseOSExtensionsContainerImage: images.baseOSExtensionsContainerImage,
      OSImageURL: images.osImageURL,
      ReleaseVersion: images.releaseVersion,
    },
  ].map((object) => goYaml(object));
}

/** Go omits empty fields of a reference. */
const referenceFields = (reference: PoolReference): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(reference).map(([name, text]) => [name, present(text)]));

const present = (text: string): string | undefined => (text === '' ? undefined : text);

/** The images of a release, as the four fields of the operator's OSImageURLConfig. */
export interface OSImages {
  readonly baseOSContainerImage: string;
  /** Empty when the release has no such image. */
  readonly baseOSExtensionsContainerImage: string;
  /** Empty except on clusters that were upgraded from very old releases. */
  readonly osImageURL: string;
  readonly releaseVersion: string;
}

const Data = z.object({
  baseOSContainerImage: z.string(),
  baseOSExtensionsContainerImage: z.string().default(''),
  osImageURL: z.string().default(''),
  releaseVersion: z.string(),
});

/**
 * Reads the images from the ConfigMap `machine-config-osimageurl`.
 * @throws AgentError `layering.wrong-object`
 */
export function readOSImages({ data }: Fields): OSImages {
  const read = Data.safeParse(data);
  if (read.success) return read.data;
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const what = `ConfigMap machine-config-osimageurl: ${problems.join(', ')}`;
  throw layeringFailure('layering.wrong-object', what);
}

/**
 * The images as the operator reads them from a rendered MachineConfig, from release 4.22 on. The
 * operator names no build for a MachineConfig without the annotation of its release.
 * @throws AgentError `layering.machine-config-invalid`
 */
export function imagesOfMachineConfig(config: MachineConfig): OSImages {
  if (config.releaseVersion === '') {
    throw layeringFailure(
      'layering.machine-config-invalid',
      `${config.name} has no annotation ${releaseVersionKey}`,
    );
  }
  return {
    baseOSContainerImage: config.osImageURL,
    baseOSExtensionsContainerImage: config.extensionsImage,
    osImageURL: '',
    releaseVersion: config.releaseVersion,
  };
}
