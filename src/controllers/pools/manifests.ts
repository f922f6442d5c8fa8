import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { etcdCluster } from '../../cluster/etcd.ts';
import { nodeControllerLease, operatorPrograms } from '../../layering/roll-out/ownership.ts';
import {
  accountManifests,
  type PolicyRule,
  restrictedPod,
  rule,
} from '../../layering/manifests/service-account.ts';
import { controllerApp, eventNamespace } from './stores.ts';

const name = controllerApp;
const listAndWatch = ['list', 'watch'] as const;
const machineConfiguration = 'machineconfiguration.openshift.io';

/**
 * Rights of the controller of pools, by namespace; an empty namespace means cluster-wide. A test
 * uses each of these.
 */
export const nodeControllerRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  '': [
    rule('', ['nodes'], [['get', ...listAndWatch, 'patch']]),
    // The pods of a node that is drained, and of etcd.
    rule('', ['pods'], [['list']]),
    rule('', ['pods/eviction'], [['create']]),
    // Inputs of a roll-out, read-only: the desired state of a pool is set by others.
    rule(
      machineConfiguration,
      ['machineconfigpools', 'machineosconfigs', 'machineosbuilds'],
      [listAndWatch],
    ),
    rule('operator.openshift.io', ['etcds'], [['get'], etcdCluster.name]),
    // Its pod has a fixed user.
    rule('security.openshift.io', ['securitycontextconstraints'], [['use'], 'nonroot-v2']),
  ],
  [operatorNamespace]: [
    rule('', ['pods'], [['watch']]),
    rule('apps', ['deployments'], [['get', ...listAndWatch]]),
    rule('coordination.k8s.io', ['leases'], [['create']]),
    rule('coordination.k8s.io', ['leases'], [['get', 'update'], nodeControllerLease]),
    rule('coordination.k8s.io', ['leases'], [['get', ...listAndWatch], ...operatorPrograms]),
  ],
  [eventNamespace]: [rule('', ['events'], [['create']])],
};

/** The objects that run the controller of pools, in the order of their application. */
export const nodeControllerManifests = (image: string): readonly KubeObject[] => [
  ...accountManifests(name, nodeControllerRules),
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: operatorNamespace, labels: { app: name } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec(image) },
    },
  },
];

/**
 * Its pod runs on a master, like the operator's, and reaches the API server alone. A single master
 * may be cordoned when the pod restarts, even by the controller itself: no other program would
 * uncordon it.
 */
const podSpec = (image: string): object => ({
  serviceAccountName: name,
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { 'node-role.kubernetes.io/master': '' },
  tolerations: [
    { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
    // On a lost master the pod stays no longer than the pod of the operator.
    ...['unreachable', 'not-ready'].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 120,
    })),
  ],
  terminationGracePeriodSeconds: 10,
  securityContext: restrictedPod.pod,
  containers: [
    {
      name: 'controller',
      image,
      args: ['node', 'controller'],
      securityContext: restrictedPod.container,
      resources: {
        requests: { cpu: '10m', memory: '128Mi' },
        limits: { cpu: '1', memory: '512Mi' },
      },
    },
  ],
});
