import { describe, expect, it } from 'vitest';
import { Secret } from '../../../model/secret.ts';
import {
  controllerManifest,
  controllerSettings,
} from '../../../../test/support/controller-manifest.ts';

describe('the settings of the controller', () => {
  it('are texts, whatever they look like', () => {
    expect(controllerManifest('cm')).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'assisted-installer-controller-config',
        namespace: 'assisted-installer',
        labels: { app: 'assisted-installer-controller' },
      },
      data: {
        'cluster-id': '0123e456-0000-4000-8000-000000000000',
        'inventory-url': 'https://svc.example:8090',
        'skip-cert-verification': 'false',
        'ca-cert-path': '',
        'check-cluster-version': 'false',
        'control-plane-count': '0',
        'must-gather-image': `{"ocp":"it's: here"}`,
      },
    });
  });

  it.each(['1e3', 'yes', '0x10', '~', '12:30:00'])('stay texts: %s', (id) => {
    const { data } = controllerManifest('cm', { ...controllerSettings, cluster: { id } });
    expect(data).toMatchObject({ 'cluster-id': id });
  });

  it('follow the configuration', () => {
    const { data } = controllerManifest('cm', {
      ...controllerSettings,
      service: { ...controllerSettings.service, insecure: true, caFile: '/etc/ca.pem' },
      cluster: { ...controllerSettings.cluster, controlPlaneCount: 3 },
      controller: { checkClusterVersion: true },
    });
    expect(data).toMatchObject({
      'skip-cert-verification': 'true',
      'ca-cert-path': '/etc/ca.pem',
      'check-cluster-version': 'true',
      'control-plane-count': '3',
    });
  });
});

describe('the token of the controller', () => {
  it.each([
    ['a token with signs', new Secret('a: "token"'), 'a: "token"'],
    ['an empty one', new Secret(''), ''],
    ['none', undefined, ''],
  ])('is a text: %s', (_, token, text) => {
    const service = { url: 'http://svc.example', ...(token === undefined ? {} : { token }) };
    expect(controllerManifest('secret', { ...controllerSettings, service })).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'assisted-installer-controller-secret',
        namespace: 'assisted-installer',
        labels: { app: 'assisted-installer-controller' },
      },
      type: 'Opaque',
      stringData: { 'pull-secret-token': text },
    });
  });
});
