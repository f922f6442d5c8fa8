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
  /**
   * Image of this program, whose pods switch the nodes before the image is handed over; without it the Machine Config
   * Operator rolls the image out afterwards.
   */
  switchedBy: z.string().optional(),
});
export type LeftImage = z.infer<typeof LeftImage>;
