import { createHash } from 'node:crypto';
import type { MachineConfig } from '../machine-config.ts';
import { machineConfigFile } from './context-paths.ts';
import type { BuildPlan } from './plan.ts';

/** Label of an image with what it was built from. */
export const builtFromLabel = 'bootwright.built-from';

/**
 * A sum over all that goes into an image: its Containerfile, the MachineConfig, and the other files of the context.
 * Where the image is pushed to is no part of it.
 */
export function builtFrom(
  { context }: Pick<BuildPlan, 'context'>,
  { object }: Pick<MachineConfig, 'object'>,
): string {
  const hash = createHash('sha256');
  for (const { path, content } of context) {
    // Another version of zlib packs the same object into other bytes.
    hash.update(JSON.stringify([path, path === machineConfigFile ? object : content]));
  }
  return hash.digest('hex').slice(0, 32);
}
