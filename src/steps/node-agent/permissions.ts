import { operatorDeployment } from '../../layering/roll-out/ownership.ts';
import type { PolicyRule } from '../controller/permissions.ts';

/**
 * What the agent may do in the whole cluster. RBAC cannot name the own node: an agent may patch others, and touches its
 * own alone.
 */
export const agentRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
  {
    apiGroups: ['machineconfiguration.openshift.io'],
    resources: ['machineconfigs'],
    verbs: ['get'],
  },
  // Its pod is privileged and shares the PID namespace of its host.
  {
    apiGroups: ['security.openshift.io'],
    resources: ['securitycontextconstraints'],
    resourceNames: ['privileged'],
    verbs: ['use'],
  },
];

/** What it may do in the namespace of the Machine Config Operator: see whether that is there, and whose pods are on its node. */
export const agentNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  {
    apiGroups: ['apps'],
    resources: ['deployments'],
    resourceNames: [operatorDeployment],
    verbs: ['get'],
  },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [operatorDeployment],
    verbs: ['get'],
  },
];
