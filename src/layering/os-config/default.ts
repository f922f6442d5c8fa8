import { Buffer } from 'node:buffer';
import { operatorNamespace } from '../bootstrap-manifests/secret.ts';
import { machineOSConfigKind } from './schema.ts';

/** What a MachineOSConfig needs that nobody can guess. */
export interface DefaultConfigRequest {
  readonly pool: string;
  /** Where the image is pushed to; its tag is replaced by the name of each build. */
  readonly pushSpec: string;
  /** Secret with the right to push, in `openshift-machine-config-operator`. */
  readonly pushSecret: string;
  /** Secret to pull the base image with; the cluster's own pull secret without it. */
  readonly pullSecret?: string;
}

/** What a pool gets that is to be layered and that nobody wrote a Containerfile for: the image of its MachineConfig. */
export const defaultContainerfile = 'FROM configs AS final\nRUN ostree container commit\n';

/** A MachineOSConfig for a pool that has none, as an object for the API server. */
export function defaultMachineOSConfig(request: DefaultConfigRequest): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
} {
  const { pool, pushSpec, pushSecret, pullSecret } = request;
  return {
    apiVersion: machineOSConfigKind.apiVersion,
    kind: machineOSConfigKind.kind,
    metadata: { name: pool },
    spec: {
      machineConfigPool: { name: pool },
      imageBuilder: { imageBuilderType: 'Job' },
      ...(pullSecret === undefined ? {} : { baseImagePullSecret: { name: pullSecret } }),
      renderedImagePushSecret: { name: pushSecret },
      renderedImagePushSpec: pushSpec,
      containerFile: [{ containerfileArch: 'NoArch', content: defaultContainerfile }],
    },
  };
}

/** The Secret of a MachineOSConfig that holds a pull secret, as the Machine Config Operator reads it. */
export const pushSecretObject = (name: string, pullSecret: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: operatorNamespace },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(pullSecret).toString('base64') },
});
