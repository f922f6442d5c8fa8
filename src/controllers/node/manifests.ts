import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { accountManifests } from '../../layering/manifests/service-account.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { agentName as name, agentNamespaceRules, agentPolicy, agentRules } from './permissions.ts';

const app = { app: name };

/** The objects that run an agent on every node, in the order of their application. */
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

/**
 * The agent reaches the host through its PID 1; a node that is drained or not ready needs its agent
 * most.
 */
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
