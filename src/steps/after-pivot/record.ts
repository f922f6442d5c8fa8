import * as z from 'zod';
import { configMaps } from '../../cluster/kinds.ts';
import { fact } from '../../engine/fact.ts';
import { LeftImage } from '../../layering/hand-over/hand-over.ts';
import { jsonIn } from '../../lib/json.ts';
import { minutes } from '../../model/duration.ts';
import type { KubeObject, KubePatch, KubeRef } from '../../ports/kube.ts';
import { step } from '../step.ts';
import { afterPivotFailure } from './failures.ts';

/** Name of everything that is left in the cluster. */
export const leftName = 'bootwright-after-pivot';

/** Where it is left: the namespace of the controller that the inventory service has installed. */
export const leftNamespace = 'assisted-installer';

/** The ConfigMap that says which host left for the cluster. */
export const recordRef: KubeRef = { kind: configMaps, name: leftName, namespace: leftNamespace };

/** What is remembered of the bootstrap host until its node is Ready. */
export const PivotRecord = z.strictObject({
  /** As the kubelet will write it: in lower case. */
  node: z.string().regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/),
  /** Addresses that a serving certificate may be for; without any it may be for none. */
  addresses: z.array(z.string()).readonly(),
  role: z.string(),
  /** Whether the settings of etcd are still to be put back. */
  isEtcdOverridden: z.boolean(),
  /** The key that a client certificate was approved for; another one is refused from then on. */
  clientKey: z.string().optional(),
  /** Images that are to be handed over, masters first. */
  images: z.array(LeftImage).readonly(),
});
export type PivotRecord = z.infer<typeof PivotRecord>;

/** The record as it was found; null where there is none (any more). */
export const FoundRecord = fact('after-pivot.record', PivotRecord.nullable());

const format = '1';

/** The record as the data of its ConfigMap. */
export const recordData = (record: PivotRecord): Readonly<Record<string, string>> => ({
  format,
  node: record.node,
  addresses: record.addresses.join(','),
  role: record.role,
  etcdOverridden: String(record.isEtcdOverridden),
  ...(record.images.length === 0 ? {} : { images: JSON.stringify(record.images) }),
  ...(record.clientKey === undefined ? {} : { clientKey: record.clientKey }),
});

const Data = z.object({
  format: z.literal(format),
  node: z.string(),
  addresses: z.string(),
  role: z.string(),
  etcdOverridden: z.enum(['true', 'false']),
  clientKey: z.string().optional(),
  images: z.string().default('[]'),
});

/**
 * Reads the record from its ConfigMap.
 * @throws AgentError `after-pivot.bad-record`
 */
export function readRecord(configMap: KubeObject): PivotRecord {
  const { data } = Data.safeParse(configMap['data']);
  const record = PivotRecord.safeParse(
    data && {
      node: data.node,
      addresses: data.addresses.split(',').filter((address) => address !== ''),
      role: data.role,
      isEtcdOverridden: data.etcdOverridden === 'true',
      images: jsonIn(data.images),
      ...(data.clientKey === undefined ? {} : { clientKey: data.clientKey }),
    },
  );
  if (record.success) return record.data;
  throw afterPivotFailure(
    'after-pivot.bad-record',
    `ConfigMap ${leftNamespace}/${leftName} does not hold a record of format ${format}`,
  );
}

/** Adds to the record which key a client certificate is approved for. */
export const clientKeyPatch = (clientKey: string): KubePatch => ({
  type: 'merge',
  body: { data: { clientKey } },
});

/** Takes the settings of etcd off the record: they are as they were. */
export const etcdDonePatch: KubePatch = {
  type: 'merge',
  body: { data: { etcdOverridden: 'false' } },
};

/** Leaves these images in the record: all others are handed over. */
export const imagesLeftPatch = (images: readonly LeftImage[]): KubePatch => ({
  type: 'merge',
  body: { data: { images: images.length === 0 ? null : JSON.stringify(images) } },
});

/** Reads which host left for this cluster. Where there is no record, all is done already. */
export const readLeftRecord = step({
  id: 'after-pivot/read-record',
  title: 'Read the record of the bootstrap host',
  uses: ['kube'],
  gives: FoundRecord,
  limit: minutes(5),
  run: async ({ kube, signal, note }) => {
    const found = await kube.get(recordRef, signal);
    if (found === undefined) {
      note('info', `there is no ConfigMap ${leftNamespace}/${leftName}: nothing to do`);
      return null;
    }
    const record = readRecord(found);
    note('info', `the bootstrap host joins as node ${record.node}`, {
      addresses: record.addresses.join(', '),
      isEtcdOverridden: record.isEtcdOverridden,
    });
    return record;
  },
});
