import { namespace } from './names.ts';

const podSecurity = 'pod-security.kubernetes.io';

/** The namespace of the controller, whose pod uses the network and files of its node. */
export const controllerNamespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name: namespace,
    labels: {
      'security.openshift.io/scc.podSecurityLabelSync': 'false',
      [`${podSecurity}/enforce`]: 'privileged',
      [`${podSecurity}/audit`]: 'privileged',
      [`${podSecurity}/warn`]: 'privileged',
    },
  },
};

/** Nothing in the namespace takes connections; a pod on the network of its node is not concerned. */
export const controllerNetworkPolicy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'assisted-installer-network-policy', namespace },
};
