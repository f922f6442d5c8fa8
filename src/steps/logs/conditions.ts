import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';

/** There is a service that takes the logs of this host. */
export const hasLogTaker = condition<Config>(
  'there is an inventory service that knows this host',
  ({ service, cluster }) => service.url !== '' && cluster.hostId !== '',
);
