/** The name of a pool's rendered MachineConfig in the tests. */
export const renderedName = (pool: string): string => `rendered-${pool}-${'0'.repeat(32)}`;

/** The operating system of the release in a rendered MachineConfig of the tests. */
export const releaseImage = `quay.io/release/os@sha256:${'a'.repeat(64)}`;

/** A pool as written by the bootstrap controller. */
export const poolText = (pool: string): string => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: ${pool}
spec:
  configuration:
    name: ${renderedName(pool)}
status:
  configuration:
    name: ${renderedName(pool)}
`;

/** A rendered MachineConfig as written by the bootstrap controller. */
export const renderedText = (
  pool: string,
  { name = renderedName(pool), image = releaseImage } = {},
): string => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  annotations:
    machineconfiguration.openshift.io/generated-by-controller-version: 1abc
    machineconfiguration.openshift.io/release-image-version: 4.21.0
  name: ${name}
spec:
  config: {ignition: {version: 3.5.0}}
  kernelType: ""
  osImageURL: ${image}
`;
