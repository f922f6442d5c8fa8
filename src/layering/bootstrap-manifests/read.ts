import { AgentError } from '../../model/failure.ts';
import { buildKeys } from '../os-build/object.ts';
import type { RegistrySecret } from '../os-config/semantics.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';
import { flawFailure, wrongObject } from '../source-flaw.ts';
import { itemsOf } from '../source-list.ts';
import type { Path, SourceFile, SourceObject } from '../source-object.ts';
import { documentsOf, type ManifestDocument, namesOf } from './documents.ts';
import { registrySecretOf } from './secret.ts';

/** What the manifests of a cluster say about the operating systems of its machines. */
export interface OsManifests {
  readonly osConfigs: readonly FoundObject[];
  /** Secrets of the operator's namespace, each with its file. */
  readonly secrets: readonly { readonly path: string; readonly secret: RegistrySecret }[];
  /** Names of the MachineConfigPools that the manifests bring. */
  readonly pools: readonly string[];
}

/** An object with the file that it stands in. */
export interface FoundObject {
  readonly path: string;
  readonly object: SourceObject;
}

/** Manifests lie in files of these names. */
export const isManifestName = (name: string): boolean => /\.(?:ya?ml|json)$/.test(name);

/** Whether an object is a MachineOSConfig of any version. */
const isOsConfig = ({ value }: SourceObject): boolean => isOfOsConfig(value);

const isOfOsConfig = (value: Value): boolean =>
  isMembers(value) && value['kind'] === 'MachineOSConfig';

/**
 * Whether a MachineOSConfig names an image or a build: of such a one the bootstrap controller of 4.21 and newer is
 * content, and how the image came to be is the business of those who built it.
 */
export function isBuiltBefore({ value }: SourceObject): boolean {
  const metadata = value['metadata'];
  const annotations = isMembers(metadata) ? metadata['annotations'] : undefined;
  return (
    isMembers(annotations) &&
    [buildKeys.preBuiltImage, buildKeys.currentBuild].some((key) => Object.hasOwn(annotations, key))
  );
}

/** Whether an object is the MachineOSConfig of a pool. */
export const isOsConfigOf =
  (pool: string) =>
  (object: SourceObject): boolean =>
    isOsConfig(object) && namesOf(object.value).name === pool;

const OTHER_KINDS = /\bkind["']?\s*:\s*["']?(?:Secret|MachineConfigPool)\b/;

/**
 * Reads manifests. A file that cannot be read is an error where it speaks of a MachineOSConfig; else it is
 * the business of whoever applies it.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function readOsManifests(files: readonly SourceFile[]): OsManifests {
  const found = files.flatMap((file) =>
    readableDocuments(file).map(({ object }) => ({ path: file.path, object })),
  );
  for (const { object } of found) requireNoneListed(object);
  return {
    osConfigs: found.filter(({ object }) => isOsConfig(object)),
    secrets: found.flatMap(({ path, object }) => {
      const secret = registrySecretOf(object.value);
      return secret === undefined ? [] : [{ path, secret }];
    }),
    pools: found
      .filter(({ object }) => object.value['kind'] === 'MachineConfigPool')
      .map(({ object }) => namesOf(object.value).name),
  };
}

/**
 * bootkube creates what is in the manifests object by object, and ends over a List
 * (https://github.com/openshift/library-go/blob/master/pkg/assets/create/creater.go, `load`).
 */
function requireNoneListed(object: SourceObject): void {
  const path = listedIn(object.value);
  if (path === undefined) return;
  const problem =
    'a MachineOSConfig stands in a List, and bootkube takes none among the manifests; give it a file of its own';
  throw flawFailure(wrongObject(object.place(path), problem));
}

/** Where in a List the first MachineOSConfig stands, however deep; undefined where there is none. */
function listedIn(list: Members): Path | undefined {
  const items = itemsOf(list) ?? [];
  for (const [index, item] of items.entries()) {
    if (isOfOsConfig(item) || list['kind'] === 'MachineOSConfigList') return ['items', index];
    const inner = isMembers(item) ? listedIn(item) : undefined;
    if (inner !== undefined) return ['items', index, ...inner];
  }
  return undefined;
}

/**
 * The objects of a file that may speak of operating systems; none of a file that does not, or cannot be read.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object` where it speaks of a MachineOSConfig
 */
export function readableDocuments(file: SourceFile): readonly ManifestDocument[] {
  const isAsked = /\bMachineOSConfig(?:List)?\b/.test(file.text);
  if (!isAsked && !OTHER_KINDS.test(file.text)) return [];
  try {
    return documentsOf(file);
  } catch (error) {
    if (isAsked || !(error instanceof AgentError)) throw error;
    return [];
  }
}
