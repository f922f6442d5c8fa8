import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, conditionOf, listAt, partOf, textAt, ownersOf } from '../../kube/object.ts';
import {
  buildKeys,
  buildOwnership,
  type MachineOSBuildObject,
  seededBuildStatus,
} from '../api/os-build.ts';
import { meantSpec } from '../api/meaning.ts';
import { askedOf, machineOSConfigKind } from '../api/os-config.ts';
import { type Fields, fieldsOf, listOf, textOf, textsIn, type Value } from '../../lib/fields.ts';
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
export function finishedStatus(found: KubeObject, image: string, at: Date) {
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

/**
 * Fields of a MachineConfig that the operator builds a new image for; for any other it takes the
 * old one (`pkg/controller/build`).
 */
const builtFields = ['osImageURL', 'kernelType', 'extensions', 'kernelArguments'] as const;

/**
 * The most differences that are named: one cause, mostly a missing object of the cluster, makes
 * many.
 */
const maxShown = 5;

/**
 * Compares two rendered MachineConfigs of a pool that should be equal. The names of rendered
 * MachineConfigs are made from their spec alone.
 * @param bootstrap as the bootstrap host rendered it
 * @param osImage the OS of the release by the bootstrap host: its own file may name the built image
 * by now, which is not what its name was made from
 * @param cluster as the cluster rendered it
 * @returns the differences as text, `file /etc/kubernetes/kubelet.conf differs`, and whether the
 * image that was built for the one is right for the other, as the operator decides it
 */
export function compareRendered(
  bootstrap: Fields,
  osImage: string,
  cluster: Fields,
): { readonly difference: string; readonly isImageForBoth: boolean } {
  // Go writes values to a file in one way, and to the API in another.
  const before = meantSpec({ ...fieldsOf(bootstrap['spec']), osImageURL: osImage });
  const after = meantSpec(fieldsOf(cluster['spec']));
  const isSame = (name: string): boolean => isDeepStrictEqual(before[name], after[name]);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const found = [
    ...names.filter((name) => name !== 'config' && !isSame(name)).map(fieldDiffers),
    ...lists.flatMap((list) => listDifferences(list, before, after)),
  ];
  const more = found.length > maxShown ? ` and ${found.length - maxShown} more` : '';
  return {
    difference:
      found.length === 0
        ? 'their specs are equal in every field that is compared'
        : `${found.slice(0, maxShown).join(', ')}${more}`,
    isImageForBoth: builtFields.every(isSame),
  };
}

const fieldDiffers = (name: string): string => `spec.${name} differs`;

/** Parts of an Ignition config that are lists of named things. */
const lists = [
  { what: 'file', path: ['storage', 'files'], key: 'path' },
  { what: 'directory', path: ['storage', 'directories'], key: 'path' },
  { what: 'link', path: ['storage', 'links'], key: 'path' },
  { what: 'unit', path: ['systemd', 'units'], key: 'name' },
  { what: 'user', path: ['passwd', 'users'], key: 'name' },
] as const;

function listDifferences(
  { what, path: [section, list], key }: (typeof lists)[number],
  ...specs: readonly Fields[]
): readonly string[] {
  const [before, after] = specs.map(
    (spec) =>
      new Map(
        listOf(fieldsOf(fieldsOf(spec['config'])[section])[list]).map((item) => [
          textOf(fieldsOf(item)[key]),
          item,
        ]),
      ),
  );
  return [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])]
    .sort()
    .flatMap((name) => {
      if (after?.has(name) !== true) return [`${what} ${name} is not in the cluster's`];
      if (before?.has(name) !== true) return [`${what} ${name} is only in the cluster's`];
      return isDeepStrictEqual(before.get(name), after.get(name))
        ? []
        : [`${what} ${name} differs`];
    });
}
