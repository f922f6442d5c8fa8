import type { Config } from '../../../config/schema.ts';
import { configMapName, labels, namespace, secretName, tokenKey } from './names.ts';

/** The settings of the controller. Every value is a text, whatever it means. */
export function controllerConfigMap({ cluster, service, controller, images }: Config): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: configMapName, namespace, labels },
    data: {
      'cluster-id': cluster.id,
      'inventory-url': service.url,
      'skip-cert-verification': String(service.insecure),
      'ca-cert-path': service.caFile,
      'check-cluster-version': String(controller.checkClusterVersion),
      'control-plane-count': String(cluster.controlPlaneCount),
      'must-gather-image': images.mustGather,
    },
  };
}

/** The token by which the controller talks to the service. What comes back is a secret. */
export function controllerSecret({ service }: Config): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace, labels },
    type: 'Opaque',
    stringData: { [tokenKey]: service.token?.reveal() ?? '' },
  };
}
