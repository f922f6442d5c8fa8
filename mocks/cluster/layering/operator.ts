// The programs of the Machine Config Operator as objects of a cluster: Deployments, their pods, and
// their leases (machine-config-operator, `manifests/machineconfigcontroller` and
// `manifests/machineosbuilder`).
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/ports/kube.ts';
import { memberHosts } from '../etcd.ts';
import { kinds } from '../objects.ts';
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

const hash = { 'pod-template-hash': '6d5f8b7c9d' };
const setOf = (name: string): string => `${name}-${hash['pod-template-hash']}`;
const podOf = (name: string): string => `${setOf(name)}-x7k2p`;

/** Whether a pod belongs to the operator. */
export const isOperators = ({ metadata: { labels } }: KubeObject): boolean =>
  labels?.['pod-template-hash'] === hash['pod-template-hash'];

const ownedBy = (kind: string, { metadata: { name, uid } }: KubeObject): object => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid, controller: true }],
});

const podSpec = (name: string): object => ({
  nodeSelector: { 'node-role.kubernetes.io/master': '' },
  automountServiceAccountToken: false,
  priorityClassName: 'system-cluster-critical',
  tolerations: [
    { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
  ],
  containers: [{ name, image: 'registry.example.test/mco:1' }],
});

/**
 * Creates the programs' objects, as the operator and the workload controllers do; each runs on a
 * master, and holds its lease.
 */
export async function startOperator(work: ClusterWork): Promise<void> {
  const { client } = work.kube;
  const [nodeName] = memberHosts(work.plan, work.state());
  for (const name of programsOf(work)) {
    const own = { 'k8s-app': name };
    const labels = { ...own, ...hash };
    const spec = podSpec(name);
    const deployment = await client.apply(kinds.Deployment, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, labels: own },
      spec: { selector: { matchLabels: own }, template: { metadata: { labels: own }, spec } },
    });
    const set = await client.apply(kinds.ReplicaSet, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: setOf(name), namespace, labels, ...ownedBy('Deployment', deployment) },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    const pod = await client.apply(kinds.Pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podOf(name), namespace, labels, ...ownedBy('ReplicaSet', set) },
      spec: { ...spec, nodeName },
    });
    await reportPod(work, pod, runningStatus(pod, new Date()));
    await renew(work, name, podOf(name));
    keepLease(work, name).catch(() => undefined);
  }
}

const renew = ({ kube }: ClusterWork, name: string, holderIdentity: string): Promise<KubeObject> =>
  kube.client.apply(kinds.Lease, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: {
      holderIdentity,
      leaseDurationSeconds: holderIdentity === '' ? 1 : lease.leaseDurationSeconds,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  });

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
