import { nearestName } from '../../lib/nearest.ts';
import { layeringFailure } from '../failures.ts';
import type { SourceObject } from './source-object.ts';
import { type MachineConfig, releaseVersionKey } from './machine-config.ts';
import { isFields, type Fields, type Value } from './schema.ts';

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
 * Reads the four fields as a person wrote them: each must be there, if only as an empty text, and
 * no other.
 * @throws AgentError `layering.wrong-object`
 */
export function readImageFields(source: SourceObject): OSImages {
  const { value, place } = source;
  const hint = `write the four fields ${names.join(', ')}`;
  const known: ReadonlySet<string> = new Set(names.flatMap((name) => [name, goName(name)]));
  if (typeof value['kind'] === 'string') {
    const problem = `a ${value['kind']} is neither a ConfigMap nor a MachineConfig`;
    throw layeringFailure('layering.wrong-object', `${place(['kind'])}: ${problem}`);
  }
  for (const name of Object.keys(value)) {
    if (known.has(name)) continue;
    const near = nearestName(name, names);
    const problem = `${name} is not one of the fields${near === undefined ? '' : `; did you mean ${near}`}`;
    throw layeringFailure('layering.wrong-object', `${place([name])}: ${problem}`, { hint });
  }
  for (const name of names) {
    if (fieldOf(value, name) !== undefined) continue;
    const problem = `${name} is missing; write ${name}: '' if the release has none`;
    throw layeringFailure('layering.wrong-object', `${place([name])}: ${problem}`, { hint });
  }
  return readOSImages(source);
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
