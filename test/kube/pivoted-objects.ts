import { nodeBootstrapper } from '../../src/cluster/csr/verify.ts';
import { etcdCluster } from '../../src/cluster/etcd.ts';
import { clusterRoleBindings, namespaces, nodes, pods } from '../../src/cluster/kinds.ts';
import type { KubeClient } from '../../mocks/kube/client.ts';

const rbac = 'rbac.authorization.k8s.io';
const roleRef = (name: string) => ({ apiGroup: rbac, kind: 'ClusterRole', name });

/** Puts what a cluster has when its bootstrap host leaves: etcd and the right to ask for certificates. */
export async function putPivoted(client: KubeClient): Promise<void> {
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
  await client.apply(clusterRoleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bootstrapper' },
    roleRef: roleRef('system:node-bootstrapper'),
    subjects: [{ kind: 'User', name: nodeBootstrapper.username, apiGroup: rbac }],
  });
}

/** Puts the node of that host there, ready or not yet. */
export async function putNode(client: KubeClient, isReady: boolean): Promise<void> {
  await client.apply(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm0' } });
  const at = '2026-11-21T00:00:00Z';
  const ready = {
    type: 'Ready',
    status: isReady ? 'True' : 'False',
    reason: 'x',
    message: 'x',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
  await client.mergeStatus({ kind: nodes, name: 'm0' }, { conditions: [ready] });
}

/** Puts a member of etcd there that is ready. */
export async function putEtcdMember(client: KubeClient, name: string): Promise<void> {
  await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `etcd-${name}`, namespace: 'openshift-etcd', labels: { app: 'etcd' } },
    spec: { nodeName: name, containers: [{ name: 'etcd', image: 'quay.example/etcd:1' }] },
  });
  const ref = { kind: pods, name: `etcd-${name}`, namespace: 'openshift-etcd' };
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-21T00:00:00Z' };
  await client.mergeStatus(ref, { phase: 'Running', conditions: [ready] });
}
