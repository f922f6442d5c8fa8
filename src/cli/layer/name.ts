import { buildName } from '../../layering/build-name.ts';
import { readMachineConfig } from '../../layering/machine-config.ts';
import { foreignSource, readMachineConfigPool } from '../../layering/machine-config-pool.ts';
import { readMachineOSConfig } from '../../layering/os-config/read.ts';
import { imagesOfMachineConfig, readOSImages } from '../../layering/os-images.ts';
import { readOne } from './read-source.ts';

/**
 * Prints the name of the MachineOSBuild that the cluster's builder would choose.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function runLayerName(options: {
  readonly osConfig: string;
  readonly pool: string;
  readonly images: string;
}): Promise<number> {
  const config = readMachineOSConfig(await readOne(options.osConfig, 'MachineOSConfig'));
  const pool = readMachineConfigPool(await readOne(options.pool, 'MachineConfigPool'));
  const source = await readOne(options.images);
  const images =
    source.value['kind'] === 'MachineConfig'
      ? imagesOfMachineConfig(readMachineConfig(source))
      : readOSImages(source);
  const name = buildName({ config, pool, images });
  const doubt = foreignSource(pool);
  if (doubt !== undefined) process.stderr.write(`note: ${doubt}\n`);
  process.stdout.write(`${name}\n`);
  return 0;
}
