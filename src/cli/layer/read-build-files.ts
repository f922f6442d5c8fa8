import { buildableOSConfig } from '../../layering/build/usable-os-config.ts';
import { type MachineConfig, readMachineConfig } from '../../layering/machine-config.ts';
import type { MachineOSConfig } from '../../layering/os-config/types.ts';
import { readOne } from './read-source.ts';
import { say } from './say.ts';

/** The two files that an image is built from. */
export interface BuildFiles {
  readonly osConfig: string;
  readonly renderedConfig: string;
}

/**
 * Reads what an image is built from; what `layer lint` warns of is told on standard error.
 * @throws AgentError `config.file-not-read`, `layering.*`
 */
export async function readBuildFiles({ osConfig, renderedConfig }: BuildFiles): Promise<{
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
}> {
  const { config, warnings } = buildableOSConfig(await readOne(osConfig, 'MachineOSConfig'));
  const machineConfig = readMachineConfig(await readOne(renderedConfig, 'MachineConfig'));
  for (const warning of warnings) say('warning', warning);
  return { config, machineConfig };
}
