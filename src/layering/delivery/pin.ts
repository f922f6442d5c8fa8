import { createHash } from 'node:crypto';
import { layeringFailure } from '../failures.ts';
import type { Members } from '../schema/schema.ts';
import { controllerManifests } from './bootstrap-files.ts';
import { setInText } from './set-in-text.ts';

/** The image of a pool, by digest. */
export interface Pin {
  readonly pool: string;
  readonly image: string;
}

/**
 * Name of the MachineConfig that names the image of a pool. It sorts behind those of the release: of several
 * images the last one counts (machine-config-operator, `pkg/controller/common`, MergeMachineConfigs).
 */
export const pinName = (pool: string): string => `99-bootwright-os-image-${pool}`;

/** The MachineConfig itself. */
export const pinObject = ({ pool, image }: Pin): Members => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: pinName(pool),
    labels: { 'machineconfiguration.openshift.io/role': pool },
  },
  spec: { osImageURL: image, config: { ignition: { version: '3.2.0' } } },
});

/** Where the bootstrap controller finds it. */
export const pinPath = (pool: string): string => `${controllerManifests}/${pinName(pool)}.yaml`;

/** JSON is YAML too. */
export const pinText = (pin: Pin): string => `${JSON.stringify(pinObject(pin), undefined, 2)}\n`;

/** Annotation of the pod with what it renders. */
const renderedWith = 'bootwright.io/rendered-with';

/**
 * The manifest of a static pod, changed so that the kubelet makes it anew: the same but for an annotation that
 * tells the images. Undefined where it tells them already.
 * @throws AgentError `layering.malformed-file`
 */
export function renderingAnew(
  { path, text }: { readonly path: string; readonly text: string },
  pins: readonly Pin[],
): string | undefined {
  const mark = createHash('sha256').update(JSON.stringify(pins)).digest('hex').slice(0, 16);
  const changed = setInText(
    {
      text,
      invalid: (problem) => layeringFailure('layering.malformed-file', `${path}: ${problem}`),
    },
    [{ path: ['metadata', 'annotations', renderedWith], value: mark }],
  );
  return changed === text ? undefined : changed;
}
