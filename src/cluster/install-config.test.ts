import { describe, expect, it } from 'vitest';
import { installConfigMap } from '../../test/support/cluster-objects.ts';
import { invokerOf, readInstallConfig } from './install-config.ts';

const none = { controlPlaneReplicas: 0, arbiterReplicas: 0 };

describe('the install-config of a cluster', () => {
  it.each([
    [
      'two masters and an arbiter',
      'controlPlane: {name: master, replicas: 2}\narbiter:\n  replicas: 1\nplatform: {baremetal: {}}',
      { ...none, controlPlaneReplicas: 2, arbiterReplicas: 1, platform: 'baremetal' },
    ],
    [
      'machine networks and VIPs',
      'networking: {machineNetwork: [{cidr: 192.0.2.0/24}]}\nplatform: {baremetal: {apiVIPs: [192.0.2.2], ingressVIP: 192.0.2.3, hosts: []}}',
      {
        ...none,
        platform: 'baremetal',
        machines: { networks: ['192.0.2.0/24'], vips: ['192.0.2.2', '192.0.2.3'] },
      },
    ],
    [
      'replicas given as text',
      'controlPlane: {replicas: "3"}',
      { ...none, controlPlaneReplicas: 3 },
    ],
    ['replicas that are not a number', 'controlPlane: {replicas: many}', none],
    [
      'a vCenter',
      'platform:\n  vsphere:\n    vcenters:\n    - server: v.example\n      user: ""\n',
      { ...none, platform: 'vsphere', vcenterServer: 'v.example' },
    ],
    [
      'a vCenter in the old format',
      'platform:\n  vsphere:\n    vCenter: v\n',
      { ...none, platform: 'vsphere' },
    ],
    ['no platform', 'platform: null', none],
  ])('with %s', (_, yaml, installConfig) => {
    expect(readInstallConfig(installConfigMap(yaml))).toEqual({ installConfig });
  });

  it.each([
    [undefined, 'kube-system/cluster-config-v1 is not in the cluster yet'],
    [{ metadata: { name: 'x' } }, 'kube-system/cluster-config-v1 holds no install-config'],
    [
      installConfigMap('a: [\n'),
      'the install-config in kube-system/cluster-config-v1 cannot be read',
    ],
    [
      installConfigMap('text'),
      'the install-config in kube-system/cluster-config-v1 cannot be read',
    ],
    [installConfigMap(''), 'kube-system/cluster-config-v1 holds no install-config'],
  ])('reports what is wrong with the ConfigMap', (configMap, problem) => {
    expect(readInstallConfig(configMap)).toEqual({ problem });
  });
});

const metadata = { name: 'openshift-install-manifests' };

it.each([
  ['without a ConfigMap', undefined, 'assisted-service'],
  ['without data', { metadata }, ''],
  ['with the key', { metadata, data: { invoker: 'agent-installer' } }, 'agent-installer'],
])('reads the invoker of a cluster %s', (_, configMap, invoker) => {
  expect(invokerOf(configMap)).toBe(invoker);
});
