import { isOperatorKey } from '../node-keys.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { textAt } from '../cluster-object.ts';

/** Objects of the cluster that may name an image. */
export interface NamingObjects {
  readonly nodes: readonly KubeObject[];
  readonly osConfigs: readonly KubeObject[];
  readonly builds: readonly KubeObject[];
  readonly machineConfigs: readonly KubeObject[];
}

/**
 * Where the cluster refers to a registry that goes away with the bootstrap host, as `OBJECT: TEXT`; nothing when
 * it does not. A node compares its image letter for letter, so a reference of that kind is never mended later.
 * @param address ADDRESS:PORT of the registry
 */
export function stagingReferences(address: string, objects: NamingObjects): readonly string[] {
  const found = [
    ...objects.nodes.flatMap(annotationsOf('node')),
    ...objects.osConfigs.flatMap((one) => [
      ...annotationsOf('MachineOSConfig')(one),
      ...textsOf('MachineOSConfig', one, [
        ['spec', 'renderedImagePushSpec'],
        ['status', 'currentImagePullSpec'],
      ]),
    ]),
    ...objects.builds.flatMap((one) =>
      textsOf('MachineOSBuild', one, [
        ['spec', 'renderedImagePushSpec'],
        ['status', 'digestedImagePushSpec'],
      ]),
    ),
    ...objects.machineConfigs.flatMap((one) => [
      ...annotationsOf('MachineConfig')(one),
      ...textsOf('MachineConfig', one, [
        ['spec', 'osImageURL'],
        ['spec', 'baseOSExtensionsContainerImage'],
      ]),
    ]),
  ];
  return found
    .filter(({ text }) => refersTo(address, text))
    .map(({ place, text }) => `${place}: ${text}`);
}

interface NamedText {
  readonly place: string;
  readonly text: string;
}

const annotationsOf =
  (kind: string) =>
  ({ metadata: { name, annotations = {} } }: KubeObject): readonly NamedText[] =>
    Object.entries(annotations)
      .filter(([key]) => isOperatorKey(key))
      .map(([key, text]) => ({ place: `${kind} ${name} ${key}`, text }));

const textsOf = (
  kind: string,
  object: KubeObject,
  paths: readonly (readonly string[])[],
): readonly NamedText[] =>
  paths.map((path) => ({
    place: `${kind} ${object.metadata.name} ${path.join('.')}`,
    text: textAt(object, ...path),
  }));

/** `10.0.0.1:5000` is not in `110.0.0.1:5000/x`, and `10.0.0.1:500` is not in `10.0.0.1:5000/x`. */
function refersTo(address: string, text: string): boolean {
  const place = `${text}/`.indexOf(`${address}/`);
  if (place < 0) return false;
  return place === 0 || !/[\w.-]/.test(text.charAt(place - 1));
}
