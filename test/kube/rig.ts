import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { parse } from 'yaml';
import { type KubeClient, openClient } from '../../mocks/kube/client.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import type { TransportOptions } from '../../mocks/kube/transport.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { kubeCluster, type KubeCluster, type KubeOptions } from '../../src/adapters/kube/kube.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import {
  clusterRoleBindings,
  namespaces,
  pods,
  serviceAccounts,
  validatingAdmissionPolicyBindings,
} from '../../src/kube/kinds.ts';
import { operatorNamespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { agentName } from '../../src/controllers/node/permissions.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';

const rbac = (plural: string): KubeKind => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
});

/** Kinds of permissions, which nobody but a manifest names. */
export const clusterRoles = rbac('clusterroles');
export const roles = rbac('roles');
export const roleBindings = rbac('rolebindings');

/** Kinds of what the API server refuses beyond permissions. */
export const admissionPolicies: KubeKind = {
  ...validatingAdmissionPolicyBindings,
  plural: 'validatingadmissionpolicies',
};

/** The kinds of deploy/layering, but what runs pods: nothing would run them. */
export const deployedKinds: Readonly<Record<string, KubeKind>> = {
  Namespace: namespaces,
  ServiceAccount: serviceAccounts,
  ClusterRole: clusterRoles,
  ClusterRoleBinding: clusterRoleBindings,
  Role: roles,
  RoleBinding: roleBindings,
  DaemonSet: { group: 'apps', version: 'v1', plural: 'daemonsets' },
  ValidatingAdmissionPolicy: admissionPolicies,
  ValidatingAdmissionPolicyBinding: validatingAdmissionPolicyBindings,
};

/**
 * Access of the agent of a node, as its kubelet gives it: by a token that is bound to a pod on that
 * node.
 */
export async function agentAccess(
  { client, kubeconfigFor }: Pick<Rig, 'client' | 'kubeconfigFor'>,
  node: string,
  more: { readonly server?: string } = {},
): Promise<string> {
  const account = { namespace: operatorNamespace, serviceAccount: agentName };
  const pod = await client.apply(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${agentName}-${node}`,
      namespace: operatorNamespace,
      // No drain evicts it.
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: agentName, uid: 'u', controller: true },
      ],
    } as never,
    spec: {
      nodeName: node,
      serviceAccountName: agentName,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'agent', image: 'registry.example/a' }],
    },
  });
  const { name, uid = '' } = pod.metadata;
  return kubeconfigFor({ user: { ...account, pod: { name, uid } }, ...more });
}

/** The smallest node the API server takes. */
export function nodeOf(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name } };
}

/** The service account that each namespace has once the controller manager has seen it. */
export const serviceAccountOf = (namespace: string, name = 'default'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});

interface Kubeconfig {
  readonly clusters: readonly [
    {
      readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
    },
  ];
  readonly users: readonly [
    {
      readonly user: {
        readonly 'client-certificate-data'?: string;
        readonly 'client-key-data'?: string;
        readonly token?: string;
      };
    },
  ];
}

/** How a kubeconfig says to reach its cluster. */
export function transportOf(kubeconfig: string): TransportOptions {
  const { clusters, users } = parse(kubeconfig) as Kubeconfig;
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  return {
    url: () => cluster.server,
    ca: decode(cluster['certificate-authority-data']),
    user:
      user.token === undefined
        ? {
            certificate: decode(user['client-certificate-data'] ?? ''),
            key: decode(user['client-key-data'] ?? ''),
          }
        : { token: user.token },
  };
}

/** A client that knows what a host knows: the text of a kubeconfig. */
export const hostClient = (kubeconfig: string): KubeClient => openClient(transportOf(kubeconfig));

/** A request for the client certificate of a node's kubelet, as the kubelet makes it. */
export async function signingRequest(name: string, node: string): Promise<KubeObject> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ['system:nodes'] }, { CN: [`system:node:${node}`] }],
    keys,
    signingAlgorithm: algorithm,
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      request: Buffer.from(request.toString('pem')).toString('base64'),
    },
  };
}

const decode = (data: string): string => Buffer.from(data, 'base64').toString();

/** The cluster of a kubeconfig, as the product reaches it; whoever opens it closes it. */
export const clusterOf = (
  kubeconfig: string,
  clock = systemClock,
  more: Partial<KubeOptions> = {},
): KubeCluster =>
  kubeCluster({
    credentials: () => Promise.resolve(kubeconfig),
    clock,
    random: systemRandom,
    emit: () => undefined,
    ...more,
  });
