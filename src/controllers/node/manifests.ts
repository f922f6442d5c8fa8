import { validatingAdmissionPolicyBindings } from '../../kube/kinds.ts';
import { nodeKeys } from '../../layering/api/node-keys.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import {
  accountManifests,
  type PolicyRule,
  rule,
} from '../../layering/manifests/service-account.ts';
import { operatorPrograms } from '../../layering/roll-out/ownership.ts';
import type { KubeObject } from '../../ports/kube.ts';

/** The service account of the agents, their roles, and the policy that confines them. */
export const agentName = 'bootwright-node-agent';

const machineConfiguration = 'machineconfiguration.openshift.io';

/**
 * Cluster-wide rights of the agent. RBAC cannot restrict it to its own node: `agentPolicy` does.
 */
export const agentRules: readonly PolicyRule[] = [
  rule('', ['nodes'], [['get', 'list', 'watch', 'patch']]),
  rule(machineConfiguration, ['machineconfigs'], [['get']]),
  // The agent compares the node's desired state with the pool's.
  rule(machineConfiguration, ['machineconfigpools', 'machineosbuilds'], [['list']]),
  rule(
    validatingAdmissionPolicyBindings.group,
    [validatingAdmissionPolicyBindings.plural],
    [['get'], agentName],
  ),
  // Its pod is privileged and shares the PID namespace of its host.
  rule('security.openshift.io', ['securitycontextconstraints'], [['use'], 'privileged']),
];

/**
 * Rights in the namespace of the Machine Config Operator: to see whether the operator exists, and
 * whose pods are on the node.
 */
export const agentNamespaceRules: readonly PolicyRule[] = [
  rule('', ['pods'], [['list']]),
  rule('apps', ['deployments'], [['get'], ...operatorPrograms]),
  rule('coordination.k8s.io', ['leases'], [['get'], ...operatorPrograms]),
];

/** The annotations that an agent writes; the controller writes the others of `nodeKeys`. */
export const agentKeys = [
  ...[nodeKeys.currentConfig, nodeKeys.currentImage],
  ...[nodeKeys.state, nodeKeys.reason, nodeKeys.desiredDrain],
];

const tokenNode = 'authentication.kubernetes.io/node-name';
const annotationsOf = (object: string): string => `${object}.metadata.?annotations.orValue({})`;

/** Conditions on each write of an agent, with the message of a refusal. */
const validations = [
  ['an agent only changes nodes', "request.operation == 'UPDATE'"],
  ['an agent changes no subresource', "request.?subResource.orValue('') == ''"],
  [
    'an agent changes the node that its token is bound to',
    `request.userInfo.?extra[?'${tokenNode}'].orValue([]) == [object.metadata.name]`,
  ],
  ['an agent changes no spec', 'object.?spec == oldObject.?spec'],
  ...['labels', 'finalizers', 'ownerReferences'].map((name) => [
    `an agent changes no ${name}`,
    `object.metadata.?${name} == oldObject.metadata.?${name}`,
  ]),
  [
    'an agent changes no annotations but its own',
    [
      ['after', 'before'],
      ['before', 'after'],
    ]
      .map(
        ([one, other]) =>
          `variables.${one}.all(key, key in variables.own || (key in variables.${other} && variables.${one}[key] == variables.${other}[key]))`,
      )
      .join(' && '),
  ],
];

/**
 * Restricts an agent to its own annotations on the node of its pod, as the operator restricts its
 * daemon (machine-config-operator, `mcn-guards`). It needs Kubernetes 1.30: policies, and tokens
 * that name the node of their pod.
 */
export const agentPolicy: readonly KubeObject[] = [
  {
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['*'],
            operations: ['*'],
            resources: ['nodes', 'nodes/*'],
          },
        ],
      },
      matchConditions: [
        {
          name: 'of-an-agent',
          expression: `request.userInfo.username == 'system:serviceaccount:${operatorNamespace}:${agentName}'`,
        },
      ],
      variables: [
        { name: 'own', expression: `['${agentKeys.join("', '")}']` },
        { name: 'before', expression: annotationsOf('oldObject') },
        { name: 'after', expression: annotationsOf('object') },
      ],
      validations: validations.map(([message, expression]) => ({
        expression,
        message,
        reason: 'Forbidden',
      })),
    },
  },
  {
    kind: 'ValidatingAdmissionPolicyBinding',
    spec: { policyName: agentName, validationActions: ['Deny'] },
  },
].map((object) => ({
  apiVersion: `${validatingAdmissionPolicyBindings.group}/v1`,
  metadata: { name: agentName },
  ...object,
}));

const app = { app: agentName };

/** The objects that run an agent on every node, in the order of their application. */
export const nodeAgentManifests = (image: string): readonly KubeObject[] => [
  ...accountManifests(agentName, { '': agentRules, [operatorNamespace]: agentNamespaceRules }),
  ...agentPolicy,
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: agentName, namespace: operatorNamespace, labels: app },
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
  serviceAccountName: agentName,
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
