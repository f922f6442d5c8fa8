// The programs of the Machine Config Operator as objects of a cluster: Deployments, their pods, and
// their leases (machine-config-operator, `manifests/machineconfigcontroller` and
// `manifests/machineosbuilder`).
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { memberHosts } from '../etcd.ts';
import { objectIn, objectsIn } from '../object-files.ts';
import { kindOf, kinds } from '../objects.ts';
import { runningStatus } from '../pods.ts';
import { type ClusterWork, reportPod } from '../site.ts';
import { operatorNamespace as namespace } from './controllers.ts';

/** The builder exists only in layered clusters. */
const programsOf = ({ layered }: ClusterWork): readonly string[] =>
  layered === undefined
    ? ['machine-config-controller']
    : ['machine-config-controller', 'machine-os-builder'];

/** Values of library-go for a cluster with more than one master (`LeaderElectionDefaulting`). */
const lease = { leaseDurationSeconds: 137, renewMillis: 26_000 };

const hash = '6d5f8b7c9d';
const podOf = (name: string): string => `${name}-${hash}-x7k2p`;

/** Whether a pod belongs to the operator. */
export const isOperators = ({ metadata: { labels } }: KubeObject): boolean =>
  labels?.['pod-template-hash'] === hash;

/**
 * Creates the programs' objects, as the operator and the workload controllers do; each runs on a
 * master, and holds its lease.
 */
export async function startOperator(work: ClusterWork): Promise<void> {
  const [node = ''] = memberHosts(work.plan, work.state());
  for (const name of programsOf(work)) {
    let owner: object = {};
    for (const { metadata, ...object } of objectsIn('operator', { name, node })) {
      const { kind = '', apiVersion } = object;
      const made = await work.kube.client.apply(kindOf({ metadata, kind }), {
        ...object,
        metadata: { ...metadata, ...owner },
      });
      const { uid } = made.metadata;
      owner = {
        ownerReferences: [{ apiVersion, kind, name: made.metadata.name, uid, controller: true }],
      };
      if (kind === 'Pod') await reportPod(work, made, runningStatus(made, new Date()));
    }
    await renew(work, name, podOf(name));
    keepLease(work, name).catch(() => undefined);
  }
}

const renew = ({ kube }: ClusterWork, name: string, holder: string): Promise<KubeObject> =>
  kube.client.apply(
    kinds.Lease,
    objectIn('lease', {
      name,
      holder,
      seconds: holder === '' ? 1 : lease.leaseDurationSeconds,
      time: new Date().toISOString().replace('Z', '000Z'),
    }),
  );

/**
 * Renews the lease until the program ends, and releases it then, as client-go does
 * (`ReleaseOnCancel`).
 */
async function keepLease(work: ClusterWork, name: string): Promise<void> {
  const lasts = (): Promise<boolean> =>
    sleep(lease.renewMillis, true, { signal: work.operated }).catch(() => false);
  while (await lasts()) await renew(work, name, podOf(name));
  if (!work.signal.aborted) await renew(work, name, '');
}

/** A person removes the programs; their pods continue until they have ended. */
export async function removeOperator(work: ClusterWork): Promise<void> {
  for (const name of programsOf(work)) {
    await work.kube.client.remove({ kind: kinds.Deployment, namespace, name });
  }
}

/** Actions of a node controller while the operator still existed, one sentence each. */
export async function meddling({ kube }: ClusterWork, account: string): Promise<readonly string[]> {
  const asked = await kube.audited(`system:serviceaccount:${namespace}:${account}`);
  return asked
    .filter(({ verb }) =>
      ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb),
    )
    .filter(({ resource }) => !['leases', 'events'].includes(resource))
    .map(({ verb, path }) => `beside the operator ${account} wrote: ${verb} ${path}`);
}
