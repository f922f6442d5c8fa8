import { objectIn } from '../../mocks/cluster/object-files.ts';
import type { KubeClient } from '../../mocks/kube/client.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import {
  nodeBootstrapper,
  readRequest,
  type RequestPurpose,
} from '../../src/cluster/csr/read-request.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import {
  certificateSigningRequests,
  clusterRoleBindings,
  namespaces,
  pods,
} from '../../src/kube/kinds.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { minutes } from '../../src/model/duration.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { leaveRecord } from '../../src/steps/cluster/leave-record.ts';
import { type FakeHost, fakeHost } from '../support/fake-host.ts';
import { alternativeNames, pkcs10, signingRequestObject } from '../support/kubelet-request.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf } from './cluster-access.ts';

/** A bootstrap host without a service, with a known image. */
export const withoutService = {
  role: 'bootstrap',
  cluster: { id: 'c', openshiftVersion: '4.18.1', controlPlaneCount: 3 },
  images: { self: 'quay.io/b:v1' },
} satisfies ConfigInput;

/** A host without a service. */
function lonelyHost(): FakeHost {
  const addresses = [
    { family: 'inet', local: '192.0.2.7', prefixlen: 24 },
    { family: 'inet6', local: '2001:db8::7', prefixlen: 64 },
  ];
  const host = fakeHost().withFile('/proc/sys/kernel/hostname', 'm0\n');
  host
    .on(['ip', '-json', 'address', 'show', 'scope', 'global'])
    .prints(JSON.stringify([{ addr_info: addresses }]));
  return host;
}

/** A cluster without its bootstrap host, on a real API server. */
export interface PivotedCluster {
  readonly rig: Rig;
  readonly admin: KubeCluster;
  /** The cluster for a user who is not an administrator. */
  readonly clusterAs: (name: string, groups: readonly string[]) => Promise<KubeCluster>;
  readonly requestOf: (name: string) => Promise<KubeObject | undefined>;
  /** State of a certificate request. */
  readonly stateOf: (name: string) => Promise<string | undefined>;
  readonly close: () => Promise<void>;
}

/** Starts a cluster in which signers and the garbage collector run. */
export async function startPivotedCluster(): Promise<PivotedCluster> {
  const rig = await startRig({ isAudited: true });
  const open: KubeCluster[] = [];
  const opened = (kubeconfig: string): KubeCluster => {
    const cluster = clusterOf(kubeconfig);
    open.push(cluster);
    return cluster;
  };
  const admin = opened(rig.kubeconfig);
  await rig.startControllerManager();
  await putPivoted(rig.client);
  const requestOf: PivotedCluster['requestOf'] = async (name) =>
    rig.client.get({ kind: certificateSigningRequests, name });
  return {
    rig,
    admin,
    clusterAs: async (name, groups) => opened(await rig.kubeconfigFor({ user: { name, groups } })),
    requestOf,
    stateOf: async (name) => {
      const object = await requestOf(name);
      return object && readRequest(object).state;
    },
    close: async () => {
      for (const one of open) await one.close();
      await rig.close();
    },
  };
}

/** Requester of a certificate, and the names in it. */
interface Kubelet {
  readonly at: Pick<PivotedCluster, 'clusterAs'>;
  readonly node: string;
  readonly names?: readonly string[];
  /** The request itself, if it is unusual. */
  readonly pem?: string;
}

/** Requests a certificate as a kubelet does. */
export async function askFor(
  purpose: RequestPurpose,
  name: string,
  { at, node, names = [], pem }: Kubelet,
): Promise<void> {
  const { signal } = new AbortController();
  const { username, groups } = nodeBootstrapper;
  const asker =
    purpose === 'client'
      ? await at.clusterAs(username, groups)
      : await at.clusterAs(`system:node:${node}`, ['system:nodes']);
  const subject = `O=system:nodes, CN=system:node:${node}`;
  const request = pem ?? (await pkcs10({ subject, names: alternativeNames(...names) }));
  // The API server sets the requester.
  const spec = { username: undefined, groups: undefined };
  const object = { ...signingRequestObject(purpose, request, { name, spec }), metadata: { name } };
  await asker.create({ kind: certificateSigningRequests }, object, signal);
}

/** Waits for a condition, for ten minutes at most. */
export async function until(what: () => Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(minutes(10));
  while (!(await what())) await systemClock.sleep(100, limit);
}

/**
 * Leaves the record of the bootstrap host, as it does without a service where its controller runs.
 */
export const leaveBehind = (kube: KubeCluster) =>
  runStep(leaveRecord, {
    config: withoutService,
    kube,
    host: lonelyHost(),
    clock: systemClock,
  });

const rbac = 'rbac.authorization.k8s.io';

/** Lets a host request its first certificate. */
export const bootstrapperBinding = {
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'bootstrapper' },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'system:node-bootstrapper' },
  subjects: [{ kind: 'User', name: nodeBootstrapper.username, apiGroup: rbac }],
};

/**
 * Creates the objects of a cluster at the time when its bootstrap host leaves: etcd and the right
 * to request certificates.
 */
async function putPivoted(client: KubeClient): Promise<void> {
  await client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'openshift-etcd' },
  });
  await client.apply(etcdCluster.kind, {
    apiVersion: 'operator.openshift.io/v1',
    kind: 'Etcd',
    metadata: { name: 'cluster' },
    spec: { managementState: 'Managed' },
  });
  await client.apply(clusterRoleBindings, bootstrapperBinding);
}

/** Creates a ready member of etcd. */
export async function putEtcdMember(client: KubeClient, name: string): Promise<void> {
  await client.create(pods, objectIn('etcd-pod', { node: name }));
  const ref = { kind: pods, name: `etcd-${name}`, namespace: 'openshift-etcd' };
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T00:00:00Z' };
  await client.mergeStatus(ref, { phase: 'Running', conditions: [ready] });
}
