import { Buffer } from 'node:buffer';
import type { SourceFile } from '../../src/layering/api/source-object.ts';

const auths = Buffer.from('{"auths":{"registry.example.com":{"auth":"cHVzaDpwYXNz"}}}');

/** The manifest of a Secret with the right to push. */
export const pushSecretManifest = (
  name = 'push',
  type = 'kubernetes.io/dockerconfigjson',
): string =>
  `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
  namespace: openshift-machine-config-operator
type: ${type}
data:
  .dockerconfigjson: ${auths.toString('base64')}
`;

/** The manifest of a MachineOSConfig. */
export const osConfigManifest = (
  pool: string,
  pushSpec = `registry.example.com/ocl/${pool}:latest`,
): string => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata:
  name: ${pool}
spec:
  machineConfigPool:
    name: ${pool}
  imageBuilder:
    imageBuilderType: Job
  renderedImagePushSecret:
    name: push
  renderedImagePushSpec: ${pushSpec}
  containerFile:
  - content: |
      FROM configs AS final
      RUN rpm-ostree install tcpdump && ostree container commit
`;

/** A manifest as a file in the first manifest folder of a bootstrap host. */
export const manifestFile = (name: string, text: string): SourceFile => ({
  path: `/opt/openshift/openshift/${name}`,
  text,
});
