import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, listAt, partOf, textAt, ownersOf } from '../../kube/object.ts';
import {
  buildKeys,
  buildOwnership,
  type MachineOSBuildObject,
  seededBuildStatus,
  type SeededBuildStatus,
} from '../api/os-build.ts';
import { meantSpec } from '../api/meaning.ts';
import { askedOf, machineOSConfigKind } from '../api/os-config.ts';
import { type Fields, fieldsOf, isFields, listOf, type Value, textsIn } from '../../lib/fields.ts';
import { namesOf } from '../manifests/bootstrap-manifests.ts';

/** Conditions after which a build takes no others (CRD of MachineOSBuild). */
const ends = ['Failed', 'Interrupted', 'Succeeded'] as const;

const endOf = (build: KubeObject) =>
  ends.find((type) => conditionOf(build, type).status === 'True');

/** Whether a build takes no other conditions. */
export const isFinishedBuild = (build: KubeObject): boolean => endOf(build) !== undefined;

/**
 * Why a MachineOSBuild of the right name cannot be used to hand an image over; undefined where it
 * can.
 */
export function buildProblem(
  found: KubeObject,
  wanted: MachineOSBuildObject,
  image: string,
): string | undefined {
  if (found.metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  if (!isDeepStrictEqual(partOf(found, 'spec'), wanted.spec)) {
    return `its spec is ${JSON.stringify(partOf(found, 'spec'))}`;
  }
  const end = endOf(found);
  const built = textAt(found, 'status', 'digestedImagePushSpec');
  if (end === undefined || (end === 'Succeeded' && built === image)) return undefined;
  return `it has ${end}${built === '' ? '' : ` with image ${built}`}`;
}

/**
 * The status that makes a build finished with the image. A start that is written already cannot be
 * changed (CRD of MachineOSBuild), so the end is put behind it.
 */
export function finishedStatus(found: KubeObject, image: string, at: Date): SeededBuildStatus {
  const begun = Date.parse(textAt(found, 'status', 'buildStart'));
  return seededBuildStatus(image, Number.isNaN(begun) ? at : new Date(begun), at);
}

/** The patch that adds the owner and the finalizers of a build; undefined when it has them. */
export function ownershipPatch(
  found: KubeObject,
  owner: { readonly name: string; readonly uid: string },
): object | undefined {
  const { ownerReferences, finalizers } = buildOwnership(owner);
  const owners = ownersOf(found);
  const held = listAt(found, 'metadata', 'finalizers');
  const isOwned = owners.some(({ uid }) => uid === owner.uid);
  const missing = finalizers.filter((one) => !held.includes(one));
  if (isOwned && missing.length === 0) return undefined;
  // Only one owner may be the controller; one of an earlier MachineOSConfig is gone with that.
  const others = owners.filter(({ kind }) => kind !== 'MachineOSConfig');
  return {
    metadata: {
      ownerReferences: isOwned ? owners : [...others, ...ownerReferences],
      finalizers: [...held, ...missing],
    },
  };
}

/**
 * Annotations that start something: the one lets the cluster seed a build of its own, the other
 * deletes a finished build. Neither may be there when an image is handed over.
 */
const triggers: readonly string[] = [buildKeys.preBuiltImage, buildKeys.rebuild];

/**
 * The MachineOSConfig as it is sent to the cluster: the user's spec word for word, with the name of
 * its build, or without one so that the cluster builds.
 * @param source the object of the manifest
 */
export function osConfigRequest(source: Fields, build?: string): KubeObject {
  const metadata = fieldsOf(source['metadata']);
  const kept = Object.entries(textsIn(metadata['annotations'])).filter(
    ([key]) => key !== buildKeys.currentBuild && !triggers.includes(key),
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

/** Whether the cluster's MachineOSConfig asks for the same as the user's, defaults aside. */
export function asksTheSame(source: Fields, found: KubeObject): boolean {
  return isDeepStrictEqual(askedOf(source['spec']), askedOf(found['spec'] as Value));
}

/** The patch that makes a build the current one of a MachineOSConfig; undefined when it is. */
export function annotationPatch(found: KubeObject, build: string): object | undefined {
  const stir = triggers.filter((key) => annotationOf(found, key) !== '');
  if (stir.length === 0 && annotationOf(found, buildKeys.currentBuild) === build) return undefined;
  const removed = Object.fromEntries(stir.map((key) => [key, null]));
  return { metadata: { annotations: { ...removed, [buildKeys.currentBuild]: build } } };
}

/** Two rendered MachineConfigs of a pool that should be equal. */
export interface RenderedPair {
  /** As the bootstrap host rendered it. */
  readonly bootstrap: Fields;
  /** As the cluster did. */
  readonly cluster: Fields;
  /**
   * The OS of the release by the bootstrap host: its own file may name the built image by now,
   * which is not what its name was made from.
   */
  readonly osImage: string;
}

/**
 * Fields of a MachineConfig that the operator builds a new image for; for any other it takes the
 * old one (`pkg/controller/build`).
 */
const builtFields = ['osImageURL', 'kernelType', 'extensions', 'kernelArguments'] as const;

/**
 * Whether the image that was built for the one is right for the other, as the operator decides it.
 */
export function isImageForBoth({ bootstrap, cluster, osImage }: RenderedPair): boolean {
  const before = specOf(bootstrap, osImage);
  const after = specOf(cluster);
  return builtFields.every((name) => isDeepStrictEqual(before[name], after[name]));
}

/**
 * The most differences that are named: one cause, mostly a missing object of the cluster, makes
 * many.
 */
const maxShown = 5;

/**
 * The differences of two rendered MachineConfigs, as text: `file /etc/kubernetes/kubelet.conf
 * differs`. The names of rendered MachineConfigs are made from their spec alone.
 */
export function renderedDifference({ bootstrap, cluster, osImage }: RenderedPair): string {
  const before = specOf(bootstrap, osImage);
  const after = specOf(cluster);
  const found = [
    ...[...new Set([...Object.keys(before), ...Object.keys(after)])]
      .sort()
      .filter((name) => name !== 'config')
      .flatMap((name) =>
        isDeepStrictEqual(before[name], after[name]) ? [] : [`spec.${name} differs`],
      ),
    ...listed(before, after),
  ];
  if (found.length === 0) return 'their specs are equal in every field that is compared';
  const more = found.length > maxShown ? ` and ${found.length - maxShown} more` : '';
  return `${found.slice(0, maxShown).join(', ')}${more}`;
}

/** Parts of an Ignition config that are lists of named things. */
const lists = [
  { what: 'file', path: ['storage', 'files'], key: 'path' },
  { what: 'directory', path: ['storage', 'directories'], key: 'path' },
  { what: 'link', path: ['storage', 'links'], key: 'path' },
  { what: 'unit', path: ['systemd', 'units'], key: 'name' },
  { what: 'user', path: ['passwd', 'users'], key: 'name' },
] as const;

function listed(before: Fields, after: Fields): readonly string[] {
  return lists.flatMap(({ what, path, key }) => {
    const left = itemsIn(before, path, key);
    const right = itemsIn(after, path, key);
    const names = [...new Set([...left.keys(), ...right.keys()])].sort();
    return names.flatMap((name) => {
      if (!right.has(name)) return [`${what} ${name} is not in the cluster's`];
      if (!left.has(name)) return [`${what} ${name} is only in the cluster's`];
      return isDeepStrictEqual(left.get(name), right.get(name)) ? [] : [`${what} ${name} differs`];
    });
  });
}

function itemsIn(spec: Fields, path: readonly string[], key: string): ReadonlyMap<string, Fields> {
  let part: Value | undefined = spec['config'];
  for (const name of path) part = fieldsOf(part)[name];
  return new Map(
    listOf(part)
      .filter(isFields)
      .flatMap((item) => {
        const name = item[key];
        return typeof name === 'string' ? [[name, item] as const] : [];
      }),
  );
}

/** Go writes values to a file in one way, and to the API in another. */
const specOf = ({ spec }: Fields, osImageURL?: string): Fields =>
  meantSpec({ ...fieldsOf(spec), ...(osImageURL === undefined ? {} : { osImageURL }) });
