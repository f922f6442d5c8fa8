import { describe, expect, it } from 'vitest';
import { controllerManifest } from '../../../../test/support/controller-manifest.ts';

describe('what the controller lives in', () => {
  it('is a namespace that lets a privileged pod in', () => {
    expect(controllerManifest('nm')).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'assisted-installer',
        labels: {
          'security.openshift.io/scc.podSecurityLabelSync': 'false',
          'pod-security.kubernetes.io/enforce': 'privileged',
          'pod-security.kubernetes.io/audit': 'privileged',
          'pod-security.kubernetes.io/warn': 'privileged',
        },
      },
    });
  });

  it('takes no connections', () => {
    expect(controllerManifest('network-policy')).toEqual({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'assisted-installer-network-policy', namespace: 'assisted-installer' },
    });
  });

  it('binds its account to its role', () => {
    expect(controllerManifest('sa')).toMatchObject({
      kind: 'ServiceAccount',
      metadata: { name: 'assisted-installer-controller', namespace: 'assisted-installer' },
    });
    expect(controllerManifest('role-binding')).toMatchObject({
      kind: 'ClusterRoleBinding',
      roleRef: { kind: 'ClusterRole', name: 'assisted-installer-controller' },
      subjects: [
        {
          kind: 'ServiceAccount',
          name: 'assisted-installer-controller',
          namespace: 'assisted-installer',
        },
      ],
    });
  });
});
