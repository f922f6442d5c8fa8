import { Buffer } from 'node:buffer';
import { AgentError } from '../../model/failure.ts';
import { buildKeys } from '../api/os-build.ts';
import type { RegistrySecret } from '../api/os-config-findings.ts';
import { type Fields, fieldsOf, textOf } from '../../lib/fields.ts';
import {
  itemsOf,
  readObjects,
  type SourceFile,
  type SourceObject,
  sourceFailure,
  wrongObject,
} from '../api/source-object.ts';
import { secretTexts } from '../registry/credentials.ts';

/** Objects among the manifests of a cluster that concern operating systems. */
export interface OsManifests {
  readonly osConfigs: readonly FoundObject[];
  /** Secrets of the operator's namespace, each with its file. */
  readonly secrets: readonly { readonly path: string; readonly secret: RegistrySecret }[];
  /** Names of the MachineConfigPools among the manifests. */
  readonly pools: readonly string[];
}

/** An object with its file. */
export interface FoundObject {
  readonly path: string;
  readonly object: SourceObject;
}

/** Whether a file name has an extension of manifests. */
export const isManifestName = (name: string): boolean => /\.(?:ya?ml|json)$/.test(name);

/**
 * Whether a MachineOSConfig names an image or a build. The bootstrap controller of 4.21 and newer
 * accepts such a MachineOSConfig; its image was built elsewhere.
 */
export function isBuiltBefore({ value }: SourceObject): boolean {
  const annotations = fieldsOf(fieldsOf(value['metadata'])['annotations']);
  return [buildKeys.preBuiltImage, buildKeys.currentBuild].some((key) =>
    Object.hasOwn(annotations, key),
  );
}

/** Whether an object is the MachineOSConfig of a pool, of any version. */
export const isOsConfigOf =
  (pool: string) =>
  ({ value }: SourceObject): boolean =>
    value['kind'] === 'MachineOSConfig' && namesOf(value).name === pool;

const OTHER_KINDS = /\bkind["']?\s*:\s*["']?(?:Secret|MachineConfigPool)\b/;

/**
 * Reads manifests. An unreadable file is an error if it names a MachineOSConfig; otherwise the
 * program that applies the manifests reports it.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function readOsManifests(files: readonly SourceFile[]): OsManifests {
  const found = files.flatMap((file) =>
    readableDocuments(file).map(({ object }) => ({ path: file.path, object })),
  );
  for (const { object } of found) refuseListed(object);
  const ofKind = (kind: string): readonly FoundObject[] =>
    found.filter(({ object }) => object.value['kind'] === kind);
  return {
    osConfigs: ofKind('MachineOSConfig'),
    secrets: ofKind('Secret').flatMap(({ path, object }) => {
      const secret = registrySecretOf(object.value);
      return secret === undefined ? [] : [{ path, secret }];
    }),
    pools: ofKind('MachineConfigPool').map(({ object }) => namesOf(object.value).name),
  };
}

/**
 * bootkube creates the manifests object by object, and exits at a List
 * (https://github.com/openshift/library-go/blob/master/pkg/assets/create/creater.go, `load`).
 */
function refuseListed({ value, place }: SourceObject): void {
  const items = itemsOf(value) ?? [];
  const index =
    value['kind'] === 'MachineOSConfigList'
      ? items.length - 1
      : items.findIndex((item) => /"kind":"MachineOSConfig(?:List)?"/.test(JSON.stringify(item)));
  if (index < 0) return;
  const problem =
    'a MachineOSConfig is in a List, which bootkube does not take among the manifests; give it a file of its own';
  throw sourceFailure(wrongObject(place(['items', index]), problem));
}

/**
 * The objects of a file that may concern operating systems; empty for another file, or for an
 * unreadable one.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object` for an unreadable file that
 * names a MachineOSConfig
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

/** One object of a manifest file, with its text. */
export interface ManifestDocument {
  /** The text between two `---` lines. */
  readonly text: string;
  readonly object: SourceObject;
}

/** A document begins at a line of `---` in any context; no block scalar reaches column 0. */
const SEPARATOR = /^---(?=\s|$)/m;

/**
 * The objects of a file. Places name the lines of the file.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function documentsOf({ path, text }: SourceFile): readonly ManifestDocument[] {
  let above = '';
  return text.split(SEPARATOR).flatMap((part) => {
    const objects = readObjects({ path, text: above + part });
    above += '\n'.repeat(part.split('\n').length - 1);
    return objects.map((object) => ({ text: part, object }));
  });
}

/**
 * A file without some of its objects; the text of the others does not change. Empty when no object
 * remains.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function withoutDocuments(
  file: SourceFile,
  isUnwanted: (object: SourceObject) => boolean,
): string {
  const wanted = documentsOf(file).filter(({ object }) => !isUnwanted(object));
  return wanted
    .map(({ text }) => text)
    .join('---')
    .replace(/^\s*\n/, '');
}

/** Name and namespace of an object; empty where missing. */
export function namesOf({ metadata }: Fields): {
  readonly name: string;
  readonly namespace: string;
} {
  const { name, namespace } = fieldsOf(metadata);
  return { name: textOf(name), namespace: textOf(namespace) };
}

/** The namespace in which the operator looks for the Secrets of a MachineOSConfig. */
export const operatorNamespace = 'openshift-machine-config-operator';

/**
 * A Secret for a MachineOSConfig with a pull secret, in the form that the Machine Config Operator
 * reads.
 */
export const pushSecretObject = (name: string, pullSecret: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: operatorNamespace },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(pullSecret).toString('base64') },
});

/** A Secret of the operator's namespace, or undefined for any other object. */
export function registrySecretOf(value: Fields): RegistrySecret | undefined {
  const { name, namespace } = namesOf(value);
  if (value['kind'] !== 'Secret' || value['apiVersion'] !== 'v1') return undefined;
  if (namespace !== operatorNamespace || name === '') return undefined;
  const type = value['type'];
  return {
    name,
    type: typeof type === 'string' ? type : 'Opaque',
    data: secretTexts(value),
  };
}

/** Pools of every cluster; a pool of workers without members may have its image all the same. */
const pools = ['master', 'worker'] as const;

/**
 * The pools of every cluster and of the manifests for which the manifests contain no
 * MachineOSConfig.
 */
export function poolsWithoutConfig({
  osConfigs,
  pools: added,
}: Pick<OsManifests, 'osConfigs' | 'pools'>): readonly string[] {
  const named = osConfigs.map(({ object }) => namesOf(object.value).name);
  return [...new Set([...pools, ...added])].filter((pool) => !named.includes(pool));
}
