import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const IronicAgentSchema = z.object({
  /** The host is managed by ironic, which reboots it. */
  isPresent: z.boolean(),
});

/** Whether the agent of ironic runs on this host. */
export const IronicAgent = fact('finish.ironic', IronicAgentSchema);
export type IronicAgent = z.infer<typeof IronicAgentSchema>;
