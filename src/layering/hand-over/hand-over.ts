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

/** Final conditions of a build (CRD of MachineOSBuild): a finished build accepts no others. */
const ends = ['Failed', 'Interrupted', 'Succeeded'] as const;

const buildEnd = (build: KubeObject) =>
  ends.find((type) => conditionOf(build, type).status === 'True');

/** Whether a build accepts no other conditions. */
export const isFinishedBuild = (build: KubeObject): boolean => buildEnd(build) !== undefined;

/**
 * The reason why an existing MachineOSBuild of the right name cannot be used for the hand-over;
 * undefined where it can.
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
  const end = buildEnd(found);
  const built = textAt(found, 'status', 'digestedImagePushSpec');
  if (end === undefined || (end === 'Succeeded' && built === image)) return undefined;
  return `it has ${end}${built === '' ? '' : ` with image ${built}`}`;
}

/**
 * The status that completes a build with the image. The CRD of MachineOSBuild forbids changes of a
 * start that is set, so the end is later than it.
 */
export function finishedStatus(found: KubeObject, image: string, at: Date) {
  const begun = Date.parse(textAt(found, 'status', 'buildStart'));
  return seededBuildStatus(image, Number.isNaN(begun) ? at : new Date(begun), at);
}

/** The patch that adds the owner and the finalizers to a build; undefined when both exist. */
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
  // An object has only one controller owner; the owner reference of a deleted MachineOSConfig is
  // removed.
  const others = owners.filter(({ kind }) => kind !== 'MachineOSConfig');
  return {
    metadata: {
      ownerReferences: isOwned ? owners : [...others, ...ownerReferences],
      finalizers: [...held, ...missing],
    },
  };
}

/**
 * Annotations that trigger an action: the first lets the cluster seed a build of its own, the
 * second deletes a finished build. A hand-over removes both.
 */
const triggers: readonly string[] = [buildKeys.preBuiltImage, buildKeys.rebuild];

/**
 * The MachineOSConfig for the API server: the user's spec word for word, with the name of its
 * build. Without a name the cluster builds the image.
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

/** Whether the cluster's MachineOSConfig requests the same as the user's, defaults aside. */
export function asksTheSame(source: Fields, found: KubeObject): boolean {
  return isDeepStrictEqual(askedOf(source['spec']), askedOf(found['spec'] as Value));
}

/**
 * The patch that makes a build the current one of a MachineOSConfig; undefined when it is current
 * already.
 */
export function annotationPatch(found: KubeObject, build: string): object | undefined {
  const stir = triggers.filter((key) => annotationOf(found, key) !== '');
  if (stir.length === 0 && annotationOf(found, buildKeys.currentBuild) === build) return undefined;
  const removed = Object.fromEntries(stir.map((key) => [key, null]));
  return { metadata: { annotations: { ...removed, [buildKeys.currentBuild]: build } } };
}

/**
 * Fields of a MachineConfig whose change makes the operator build a new image; after any other
 * change it keeps the old image (`pkg/controller/build`).
 */
const builtFields = ['osImageURL', 'kernelType', 'extensions', 'kernelArguments'] as const;

/**
 * The most differences in a message: one cause, mostly a missing object of the cluster, makes many.
 */
const maxShown = 5;

/**
 * Compares two rendered MachineConfigs of a pool that should be equal. The name of a rendered
 * MachineConfig is a hash of its spec alone.
 * @param bootstrap as rendered by the bootstrap host
 * @param osImage the OS of the release on the bootstrap host: the rendered file may already contain
 * the built image, from which its name was not made
 * @param cluster as rendered by the cluster
 * @returns the differences as text, `file /etc/kubernetes/kubelet.conf differs`, and whether the
 * operator accepts the image of one MachineConfig for the other
 */
export function compareRendered(
  bootstrap: Fields,
  osImage: string,
  cluster: Fields,
): { readonly difference: string; readonly isImageForBoth: boolean } {
  // Go encodes values differently in a file and in the API.
  const before = meantSpec({ ...fieldsOf(bootstrap['spec']), osImageURL: osImage });
  const after = meantSpec(fieldsOf(cluster['spec']));
  const isSame = (name: string): boolean => isDeepStrictEqual(before[name], after[name]);
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const found = [
    ...names
      .filter((name) => name !== 'config' && !isSame(name))
      .map((name) => `spec.${name} differs`),
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

/** Lists of named entries in an Ignition config. */
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
