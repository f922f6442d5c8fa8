import * as z from 'zod';
import { controllerNamespace, leftName } from '../../cluster/controller.ts';
import { configMaps } from '../../kube/kinds.ts';
import { jsonIn } from '../../lib/json.ts';
import type { KubeObject, KubePatch, KubeRef } from '../../ports/kube.ts';
import { clusterFailure } from './failures.ts';

/** The ConfigMap with the record: the host that left for the cluster, and the work that remains. */
export const recordRef: KubeRef = {
  kind: configMaps,
  name: leftName,
  namespace: controllerNamespace,
};

/** A host of the cluster as the service had it when the bootstrap host left. */
const LeftHost = z.strictObject({
  name: z.string(),
  addresses: z.array(z.string()).readonly(),
  stage: z.string().optional(),
});
export type LeftHost = z.infer<typeof LeftHost>;

/** The record of the bootstrap host, kept until the work that it left is done. */
export const LeftRecord = z.strictObject({
  /** In the spelling of the kubelet: lower case. */
  node: z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/),
  /** In canonical form. */
  addresses: z.array(z.string()).readonly(),
  role: z.string(),
  /** Whether the etcd override must still be restored. */
  isEtcdOverridden: z.boolean(),
  /**
   * All hosts of the cluster, for a controller that starts after the service left with the
   * bootstrap host.
   */
  hosts: z.array(LeftHost).readonly().optional(),
});
export type LeftRecord = z.infer<typeof LeftRecord>;

const format = '1';

/** The record as the data of its ConfigMap. */
export const recordData = (record: LeftRecord): Readonly<Record<string, string>> => ({
  format,
  node: record.node,
  addresses: record.addresses.join(','),
  role: record.role,
  etcdOverridden: String(record.isEtcdOverridden),
  ...(record.hosts === undefined ? {} : { hosts: JSON.stringify(record.hosts) }),
});

/** The record as its ConfigMap. */
export const recordObject = (record: LeftRecord): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: leftName,
    namespace: controllerNamespace,
    labels: {
      'app.kubernetes.io/name': 'bootwright',
      'app.kubernetes.io/component': 'bootstrap-host',
      'app.kubernetes.io/part-of': 'assisted-installer',
    },
  },
  data: recordData(record),
});

const Data = z.object({
  format: z.literal(format),
  node: z.string(),
  addresses: z.string(),
  role: z.string(),
  etcdOverridden: z.enum(['true', 'false']),
  hosts: z.string().optional(),
});

/**
 * Reads the record from its ConfigMap.
 * @throws AgentError `cluster.bad-record`
 */
export function readRecord(configMap: KubeObject): LeftRecord {
  const { data } = Data.safeParse(configMap['data']);
  const record = LeftRecord.safeParse(
    data && {
      node: data.node,
      addresses: data.addresses.split(',').filter((address) => address !== ''),
      role: data.role,
      isEtcdOverridden: data.etcdOverridden === 'true',
      hosts: jsonIn(data.hosts ?? ''),
    },
  );
  if (record.success) return record.data;
  throw clusterFailure(
    'cluster.bad-record',
    `ConfigMap ${controllerNamespace}/${leftName} does not hold a record of format ${format}`,
  );
}

/** Removes the etcd override from the record: it is restored. */
export const etcdDonePatch: KubePatch = {
  type: 'merge',
  body: { data: { etcdOverridden: 'false' } },
};
