/** Content of a machine-config-server's answer. */
export interface ServedShape {
  readonly rendered: string;
  readonly osImage: string;
  /** Both image annotations; none without it. */
  readonly image?: string;
  /** Name of the encapsulated MachineConfig, if different. */
  readonly named?: string;
  /** Text of the annotations file; undefined for no file. */
  readonly annotations?: string | undefined;
  readonly version?: string;
}

const prefix = 'machineconfiguration.openshift.io';

/**
 * The Ignition that a machine-config-server serves to a pool, with the two files that layering
 * reads.
 */
export function servedIgnition(shape: ServedShape): string {
  const { rendered, osImage, image, version = '3.4.0' } = shape;
  const machineConfig = {
    apiVersion: `${prefix}/v1`,
    kind: 'MachineConfig',
    metadata: { name: shape.named ?? rendered },
    spec: { osImageURL: osImage, config: { ignition: { version: '3.5.0' } } },
  };
  const annotations = {
    [`${prefix}/currentConfig`]: rendered,
    ...(image === undefined ? {} : { [`${prefix}/currentImage`]: image }),
    [`${prefix}/desiredConfig`]: rendered,
    ...(image === undefined ? {} : { [`${prefix}/desiredImage`]: image }),
    [`${prefix}/state`]: 'Done',
  };
  const annotationsText = 'annotations' in shape ? shape.annotations : JSON.stringify(annotations);
  return JSON.stringify({
    ignition: { version },
    storage: {
      files: [
        ...(annotationsText === undefined
          ? []
          : [fileOf('/etc/machine-config-daemon/node-annotations.json', annotationsText)]),
        fileOf('/etc/ignition-machine-config-encapsulated.json', JSON.stringify(machineConfig)),
      ],
    },
  });
}

const fileOf = (path: string, text: string): object => ({
  path,
  mode: 0o644,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});
