import * as z from 'zod';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

/**
 * An image that is handed over when the bootstrap host has left: all that the objects of the cluster are made from. Its
 * Secrets and its tag are there before.
 */
export const LeftImage = z.strictObject({
  /** Name of the MachineConfigPool, and so of its MachineOSConfig. */
  pool: z.string(),
  /** The rendered MachineConfig that the image was built for. */
  renderedConfig: z.string(),
  /** Name of the MachineOSBuild, as the cluster's builder would choose it. */
  machineOSBuild: z.string(),
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  image: z.string(),
  /** The user's MachineOSConfig. */
  osConfig: z.custom<Members>((value) => isMembers(value as Value)),
});
export type LeftImage = z.infer<typeof LeftImage>;
