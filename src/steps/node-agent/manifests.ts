import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { PolicyRule } from '../controller/permissions.ts';
import { agentName as name, agentNamespaceRules, agentPolicy, agentRules } from './permissions.ts';

const group = 'rbac.authorization.k8s.io';
const rbac = { apiVersion: `${group}/v1` };

/** A service account of the operator's namespace that may do what `rules` say of each namespace, or of the cluster (''). */
export function accountManifests(
  name: string,
  rules: Readonly<Record<string, readonly PolicyRule[]>>,
): readonly KubeObject[] {
  const account = { name, namespace: operatorNamespace };
  const subjects = [{ kind: 'ServiceAccount', ...account }];
  const roles = Object.entries(rules).flatMap(([namespace, rules]): readonly KubeObject[] => {
    const prefix = namespace === '' ? 'Cluster' : '';
    const metadata = { name, ...(namespace === '' ? {} : { namespace }) };
    const roleRef = { apiGroup: group, kind: `${prefix}Role`, name };
    return [
      { ...rbac, kind: `${prefix}Role`, metadata, rules },
      { ...rbac, kind: `${prefix}RoleBinding`, metadata, roleRef, subjects },
    ];
  });
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }, ...roles];
}

const app = { app: name };

/** The objects by which every node has an agent, in the order in which they are applied. */
export const nodeAgentManifests = (image: string): readonly KubeObject[] => [
  ...accountManifests(name, { '': agentRules, [operatorNamespace]: agentNamespaceRules }),
  ...agentPolicy,
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: operatorNamespace, labels: app },
    spec: {
      selector: { matchLabels: app },
      updateStrategy: { type: 'RollingUpdate' },
      template: { metadata: { labels: app }, spec: podSpec(image) },
    },
  },
];

/** The host is reached through its PID 1; a node that is drained or not ready needs its agent most. */
const podSpec = (image: string): object => ({
  serviceAccountName: name,
  hostPID: true,
  hostNetwork: true,
  dnsPolicy: 'ClusterFirstWithHostNet',
  priorityClassName: 'system-node-critical',
  tolerations: [{ operator: 'Exists' }],
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  terminationGracePeriodSeconds: 10,
  containers: [
    {
      name: 'agent',
      image,
      args: ['node', 'agent'],
      env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
      securityContext: { privileged: true, runAsUser: 0 },
      resources: { requests: { cpu: '10m', memory: '64Mi' } },
    },
  ],
});
