import { buildName } from '../../layering/api/build-name.ts';
import {
  foreignSource,
  type MachineConfigPool,
  readMachineConfigPool,
} from '../../layering/api/machine-config-pool.ts';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import {
  imagesOfMachineConfig,
  type OSImages,
  readImageFields,
  readOSImages,
} from '../../layering/api/os-images.ts';
import { fieldsOf } from '../../layering/api/schema.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { nameableOSConfig } from '../../layering/build/lint.ts';
import type { SourceObject } from '../../layering/api/source-object.ts';
import { print, printJson, printNote } from '../messages.ts';
import { readOne } from './files.ts';

/** Where clusters up to 4.21 keep the four texts. */
const imagesMap = 'machine-config-osimageurl';

/** Arguments of `layer name`: three files. */
export interface NameCall {
  readonly osConfig: string;
  readonly pool: string;
  readonly images: string;
  /** `text`, unless it is `json`. */
  readonly format?: string;
}

/**
 * Prints the name of the MachineOSBuild that the cluster's builder would choose.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function runLayerName(options: NameCall): Promise<number> {
  const { config, warnings } = nameableOSConfig(await readOne(options.osConfig, 'MachineOSConfig'));
  const pool = readMachineConfigPool(await readOne(options.pool, 'MachineConfigPool'));
  const images = imagesIn(await readOne(options.images), pool);
  const name = buildName({ config, pool, images });
  for (const warning of warnings) printNote('warning', warning);
  const doubt = foreignSource(pool);
  if (doubt !== undefined) printNote('note', doubt);
  if (options.format === 'json') printJson({ v: 1, name });
  else print(`${name}\n`);
  return 0;
}

function imagesIn(source: SourceObject, pool: MachineConfigPool): OSImages {
  const { kind, metadata } = source.value;
  if (kind === 'MachineConfig') return imagesOfRendered(source, pool);
  if (kind !== 'ConfigMap') return readImageFields(source);
  const name = fieldsOf(metadata)['name'];
  if (name !== imagesMap) {
    const found = typeof name === 'string' ? name : 'one without a name';
    printNote(
      'note',
      `${source.place(['metadata', 'name'])}: the operator reads the ConfigMap ${imagesMap}, not ${found}`,
    );
  }
  return readOSImages(source);
}

/** The operator takes the images from the MachineConfig that the pool names, and from no other. */
function imagesOfRendered(source: SourceObject, pool: MachineConfigPool): OSImages {
  const machineConfig = readMachineConfig(source);
  const wanted = pool.configuration.name;
  if (machineConfig.name === wanted) return imagesOfMachineConfig(machineConfig);
  throw layeringFailure(
    'layering.wrong-object',
    `${source.place(['metadata', 'name'])}: the MachineConfig is ${machineConfig.name}, but pool ${pool.name} uses ${wanted}`,
    { hint: `give that one: oc get mc ${wanted} -o yaml` },
  );
}
