import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const EtcdOverrideSchema = z.strictObject({
  isSet: z.boolean(),
  /** The overrides that were there before; null when there were none. */
  before: z.json(),
});

/** etcd of the cluster was let start with less than three members. */
export const EtcdOverride = fact('cluster.etcd-override', EtcdOverrideSchema);
export type EtcdOverride = z.infer<typeof EtcdOverrideSchema>;

const EtcdHandoverSchema = z.strictObject({
  /** It was seen that etcd needs the bootstrap host no more; else it is only likely. */
  isSeen: z.boolean(),
});

/** Whether etcd of the cluster has left the bootstrap host. */
export const EtcdHandover = fact('cluster.etcd-handover', EtcdHandoverSchema);
export type EtcdHandover = z.infer<typeof EtcdHandoverSchema>;
