import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const HostIgnitionSchema = z.object({
  /** On the host, mode 0600. */
  path: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  /** Where it came from, for people. */
  origin: z.string(),
  /** Spec version of the config, `3.2.0`. */
  version: z.string(),
});

/** The Ignition that coreos-installer puts on the disk of this host. */
export const HostIgnition = fact('ignition.host', HostIgnitionSchema);
export type HostIgnition = z.infer<typeof HostIgnitionSchema>;
