import { describe, expect, it } from 'vitest';
import { controllerManifest } from '../../../../test/support/controller-manifest.ts';

describe('the role of the controller', () => {
  const { rules } = controllerManifest('role') as {
    rules: {
      apiGroups: string[];
      resources: string[];
      resourceNames?: string[];
      verbs: string[];
    }[];
  };
  const verbsOf = (group: string, resource: string): string[] =>
    rules
      .filter(
        ({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(resource),
      )
      .flatMap(({ verbs }) => verbs);

  it.each([
    ['', 'pods', ['get', 'list', 'watch', 'deletecollection']],
    ['', 'nodes', ['get', 'list', 'watch', 'patch']],
    ['', 'events', ['create']],
    ['', 'services', ['list', 'delete']],
    ['certificates.k8s.io', 'certificatesigningrequests/approval', ['update']],
    ['batch', 'jobs', ['get', 'list', 'delete']],
    ['config.openshift.io', 'clusterversions', ['get', 'list']],
    ['metal3.io', 'baremetalhosts', ['get', 'list', 'watch', 'update', 'patch']],
    ['operators.coreos.com', 'installplans', ['get', 'list', 'update', 'delete']],
    ['machineconfiguration.openshift.io', '*', ['patch', 'get']],
  ])('may, in %j with %s, %j', (group, resource, verbs) => {
    expect(verbsOf(group, resource)).toEqual(verbs);
  });

  it('may approve for kubelets alone', () => {
    expect(rules.find(({ verbs }) => verbs.includes('approve'))?.resourceNames).toEqual([
      'kubernetes.io/kube-apiserver-client-kubelet',
      'kubernetes.io/kubelet-serving',
    ]);
  });
});
