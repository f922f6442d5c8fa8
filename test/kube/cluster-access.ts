import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type KubeClient, openClient } from '../../mocks/kube/client.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import type { TransportOptions } from '../../mocks/kube/transport.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock.ts';
import { kubeCluster, type KubeCluster, type KubeOptions } from '../../src/adapters/kube/kube.ts';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import {
  clusterRoleBindings,
  namespaces,
  pods,
  serviceAccounts,
  validatingAdmissionPolicyBindings,
} from '../../src/kube/kinds.ts';
import { operatorNamespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { agentName } from '../../src/controllers/node/manifests.ts';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';

const rbac = (plural: string): KubeKind => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
});

/** Kinds of RBAC, used only by manifests. */
export const clusterRoles = rbac('clusterroles');
const roles = rbac('roles');
const roleBindings = rbac('rolebindings');

export const customResourceDefinitions: KubeKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};

/** A definition of a kind that accepts any content. */
export const openDefinition = (
  { group, version, plural }: KubeKind,
  kind: string,
  {
    scope = 'Namespaced',
    ...more
  }: { readonly scope?: string; readonly subresources?: object } = {},
): KubeObject => {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [{ name: version, served: true, storage: true, schema, ...more }],
    },
  };
};

/** Kinds of admission policies. */
const admissionPolicies: KubeKind = {
  ...validatingAdmissionPolicyBindings,
  plural: 'validatingadmissionpolicies',
};

/** The kinds of deploy/layering, except those that run pods: no kubelet runs here. */
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
 * Access of a node's agent, as its kubelet provides it: a token that is bound to a pod on that
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
      // A drain never evicts it.
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

/** The smallest node that the API server accepts. */
export function nodeOf(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name } };
}

/** The service account that the controller manager creates in each namespace. */
export const serviceAccountOf = (namespace: string, name = 'default'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});

/** The connection options of a kubeconfig. */
export function transportOf(kubeconfig: string): TransportOptions {
  const { server, ca = '', certificate = '', key, authorization } = readKubeconfig(kubeconfig);
  return {
    url: () => server,
    ca,
    user:
      authorization === undefined
        ? { certificate, key: key?.reveal() ?? '' }
        : { token: authorization.reveal().replace(/^Bearer /, '') },
  };
}

/** A client for the text of a kubeconfig, as on a host. */
export const hostClient = (kubeconfig: string): KubeClient => openClient(transportOf(kubeconfig));

/**
 * Starts the program with the access of a service account, as a kubelet starts its pod: only its
 * arguments and credentials, all other settings as variables.
 */
export async function startProgram(
  { folder, kubeconfigFor }: Pick<Rig, 'folder' | 'kubeconfigFor'>,
  user: { readonly namespace: string; readonly serviceAccount: string },
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const file = join(folder, `${user.serviceAccount}.kubeconfig`);
  await writeFile(file, await kubeconfigFor({ user }));
  const { PATH, HOME } = process.env;
  const main = resolve(import.meta.dirname, '../../src/main.ts');
  const argv = [main, ...words, '--kubeconfig', file];
  const env = { PATH, HOME, TMPDIR: folder, ...variables };
  const program = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let log = '';
  program.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
  return {
    /** Its output so far. */
    log: () => log,
    kill: (signal: NodeJS.Signals = 'SIGKILL') => program.kill(signal),
    /** Its exit code and signal. */
    ended: once(program, 'close') as Promise<unknown>,
  };
}

/** The product's client for the cluster of a kubeconfig; the caller closes it. */
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
