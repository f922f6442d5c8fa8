import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf } from '../cluster-object.ts';
import { buildKeys } from '../os-build/object.ts';
import { namesOf } from '../bootstrap-manifests/documents.ts';
import { machineOSConfigKind } from '../os-config/schema.ts';
import { preparedObject } from '../schema/check-object.ts';
import { isMembers, type Members } from '../schema/schema.ts';

/**
 * Annotations that set something going: the one lets the cluster seed a build of its own, the other throws a
 * finished build away. Neither may be there when an image is handed over.
 */
const stirring: readonly string[] = [buildKeys.preBuiltImage, buildKeys.rebuild];

/**
 * The MachineOSConfig as it is sent to the cluster: the user's spec word for word, with the name of its build, or
 * without one so that the cluster builds.
 * @param source as it stands in the manifest
 */
export function osConfigRequest(source: Members, build?: string): KubeObject {
  const metadata = isMembers(source['metadata']) ? source['metadata'] : {};
  const kept = Object.entries(textsIn(metadata['annotations'])).filter(
    ([key]) => key !== buildKeys.currentBuild && !stirring.includes(key),
  );
  return {
    apiVersion: machineOSConfigKind.apiVersion,
    kind: machineOSConfigKind.kind,
    metadata: {
      name: namesOf(source).name,
      labels: textsIn(metadata['labels']),
      annotations: {
        ...Object.fromEntries(kept),
        ...(build === undefined ? {} : { [buildKeys.currentBuild]: build }),
      },
    },
    spec: source['spec'],
  };
}

/** Whether the cluster's MachineOSConfig asks for what the user's asks for, defaults aside. */
export function asksTheSame(source: Members, found: KubeObject): boolean {
  const spec = (object: Members): unknown => preparedObject(object, machineOSConfigKind)['spec'];
  return isDeepStrictEqual(spec(source), spec(found as unknown as Members));
}

/** What must be changed on a MachineOSConfig that is there, for a build to be its own; nothing when it is. */
export function annotationPatch(found: KubeObject, build: string): object | undefined {
  const stir = stirring.filter((key) => annotationOf(found, key) !== '');
  if (stir.length === 0 && annotationOf(found, buildKeys.currentBuild) === build) return undefined;
  const removed = Object.fromEntries(stir.map((key) => [key, null]));
  return { metadata: { annotations: { ...removed, [buildKeys.currentBuild]: build } } };
}

const textsIn = (value: Members[string] | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isMembers(value) ? value : {}).flatMap(([key, text]) =>
      typeof text === 'string' ? [[key, text] as const] : [],
    ),
  );
