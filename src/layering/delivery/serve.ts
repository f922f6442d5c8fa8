import { layeringFailure } from '../failures.ts';
import { buildKeys } from '../os-build/object.ts';
import { setInText } from './set-in-text.ts';

/** An image that a rendered MachineConfig is to be served with. */
export interface ServedImage {
  /** HOST/[NAMESPACE/]NAME@sha256:… */
  readonly image: string;
  /** The file that is changed, for messages. */
  readonly path: string;
}

/**
 * The text of a rendered MachineConfig, changed so that the machine-config-server of the bootstrap host serves
 * an image with it: `spec.osImageURL` is the image, and so is the annotation by which the server names it to the
 * node (machine-config-operator from 4.21 on, `pkg/server`). The name stays, although it no longer is the hash of
 * the spec: the cluster has the MachineConfig with the system of the release under it. All else stays as it
 * stands, to the byte.
 * @throws AgentError `layering.machine-config-invalid`
 */
export const servedMachineConfig = (text: string, { image, path }: ServedImage): string =>
  setInText(
    {
      text,
      invalid: (problem) =>
        layeringFailure('layering.machine-config-invalid', `${path}: ${problem}`),
    },
    [
      { path: ['metadata', 'annotations', buildKeys.preBuiltImage], value: image },
      { path: ['spec', 'osImageURL'], value: image },
    ],
  );
