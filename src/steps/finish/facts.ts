import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const IronicAgentSchema = z.object({
  /** The host is managed by ironic, which reboots it. */
  isPresent: z.boolean(),
});

/** Whether the agent of ironic runs on this host. */
export const IronicAgent = fact('finish.ironic', IronicAgentSchema);
export type IronicAgent = z.infer<typeof IronicAgentSchema>;

const RebootDelaySchema = z.object({
  /** As `shutdown` takes it: `now`, or `+1` for after a minute. */
  when: z.string().regex(/^(now|\+\d+)$/),
});

/** How long the host waits before it reboots. */
export const RebootDelay = fact('finish.reboot-delay', RebootDelaySchema);
export type RebootDelay = z.infer<typeof RebootDelaySchema>;
