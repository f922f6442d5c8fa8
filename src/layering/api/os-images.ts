import * as z from 'zod';
import { layeringFailure } from '../failures.ts';
import { type MachineConfig, releaseVersionKey } from './machine-config.ts';
import type { Fields } from '../../lib/fields.ts';

/** The four texts by which the operator knows the images of a release. */
export interface OSImages {
  readonly baseOSContainerImage: string;
  /** Empty when there is none. */
  readonly baseOSExtensionsContainerImage: string;
  /** Always empty but on clusters that were upgraded from very old releases. */
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
 * The images as the operator takes them from a rendered MachineConfig, from release 4.22 on. It
 * names no build for one without the annotation of its release.
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
