import { layeringFailure } from '../failures.ts';
import type { SourceObject } from './source-object.ts';
import { type MachineConfig, releaseVersionKey } from './machine-config.ts';
import { isFields, type Fields, type Value } from '../../lib/fields.ts';

/** The four texts by which the operator knows the images of a release. */
export interface OSImages {
  readonly baseOSContainerImage: string;
  /** Empty when there is none. */
  readonly baseOSExtensionsContainerImage: string;
  /** Always empty but on clusters that were upgraded from very old releases. */
  readonly osImageURL: string;
  readonly releaseVersion: string;
}

const names = [
  'baseOSContainerImage',
  'baseOSExtensionsContainerImage',
  'osImageURL',
  'releaseVersion',
] as const;

/**
 * Reads the images from the four fields, written as in the ConfigMap `machine-config-osimageurl` or
 * as Go writes them, or from that ConfigMap itself.
 * @throws AgentError `layering.wrong-object`
 */
export function readOSImages(source: SourceObject): OSImages {
  const { value, place } = source;
  const fields = value['kind'] === 'ConfigMap' && isFields(value['data']) ? value['data'] : value;
  const read = names.map((name) => {
    const text = fieldOf(fields, name);
    if (typeof text === 'string') return [name, text] as const;
    if (text === undefined && name !== 'baseOSContainerImage' && name !== 'releaseVersion') {
      return [name, ''] as const;
    }
    const problem = text === undefined ? 'is missing' : 'is not a string';
    throw layeringFailure('layering.wrong-object', `${place([name])}: ${name} ${problem}`, {
      hint: `write the four fields ${names.join(', ')}`,
    });
  });
  return Object.fromEntries(read) as unknown as OSImages;
}

/** As Go writes the name of a field. */
const goName = (name: string): string =>
  name.replace(/^(?:os|[a-z])/, (start) => start.toUpperCase());

const fieldOf = (fields: Fields, name: string): Value | undefined =>
  fields[name] ?? fields[goName(name)];

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
