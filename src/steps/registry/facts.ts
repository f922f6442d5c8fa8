import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const RegistryMediaSchema = z.object({
  /** The live medium carries a registry: an appliance, or a disconnected installation. */
  isPresent: z.boolean(),
});

/** Whether there is registry data to copy. */
export const RegistryMedia = fact('registry.media', RegistryMediaSchema);
export type RegistryMedia = z.infer<typeof RegistryMediaSchema>;
