import { isDeepStrictEqual } from 'node:util';
import { isMap } from 'yaml';
import { parseYaml } from '../../lib/yaml-text.ts';
import {
  readMachineConfig,
  controllerVersionKey,
  releaseVersionKey,
} from '../api/machine-config.ts';
import { buildKeys } from '../api/os-build.ts';
import { type Fields, fieldsOf } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';
import { readObjects, type SourceFile, type SourceObject } from '../api/source-object.ts';

/**
 * The text of a rendered MachineConfig for the machine-config-server of the bootstrap host, with
 * the image in `spec.osImageURL` and in the annotation from which the server names it to the node
 * (machine-config-operator from 4.21 on, `pkg/server`). The name stays, although it no longer is
 * the hash of the spec: in the cluster the MachineConfig of that name has the OS of the release.
 * @param path for messages
 * @param image HOST/[NAMESPACE/]NAME@sha256:…
 * @throws AgentError `layering.machine-config-invalid`
 */
export function servedMachineConfig(text: string, path: string, image: string): string {
  const document = parsed(text);
  const [error] = document.errors;
  if (error !== undefined) throw invalid(`${path}: ${error.message}`);
  const before = document.toJS({ maxAliasCount: -1 }) as Fields;
  for (const name of ['metadata', 'spec'])
    if (!isMap(document.get(name))) throw invalid(`${path}: it has no ${name}`);
  const annotations = ['metadata', 'annotations'];
  if (!isMap(document.getIn(annotations))) document.setIn(annotations, document.createNode({}));
  document.setIn([...annotations, buildKeys.preBuiltImage], image);
  document.setIn(['spec', 'osImageURL'], image);
  const changed = document.toString({ lineWidth: 0, indentSeq: false });
  const metadata = fieldsOf(before['metadata']);
  const named = { ...fieldsOf(metadata['annotations']), [buildKeys.preBuiltImage]: image };
  const meant = {
    ...before,
    metadata: { ...metadata, annotations: named },
    spec: { ...fieldsOf(before['spec']), osImageURL: image },
  };
  // Masters boot with it: all other content must be unchanged.
  if (isDeepStrictEqual(parsed(changed).toJS({ maxAliasCount: -1 }), meant)) return changed;
  throw invalid(`${path}: its annotations and spec.osImageURL cannot be changed`);
}

/**
 * A quoted key `<<` is an ordinary key to Kubernetes; the library would write it without quotes, as
 * a merge.
 */
const parsed = (text: string) =>
  parseYaml(text, {
    version: '1.1',
    hasAliases: true,
    filterTags: (tags) =>
      tags.filter((tag) => typeof tag === 'string' || !tag.tag.endsWith(':merge')),
  });

/**
 * Name of the MachineConfig that the machine-config-server of the bootstrap host serves to a pool,
 * from the status of the pool.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function renderedNameIn(poolFile: SourceFile): string {
  const object = onlyObject(poolFile);
  const name = fieldsOf(fieldsOf(object.value['status'])['configuration'])['name'];
  if (typeof name === 'string' && name !== '') return name;
  const place = object.place(['status', 'configuration', 'name']);
  throw layeringFailure('layering.wrong-object', `${place}: the pool names no MachineConfig`);
}

/**
 * Name of the OS stream of a pool (`spec.osImageStream` of a MachineConfigPool); undefined where it
 * is not set.
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function streamIn(poolFile: SourceFile): string | undefined {
  const spec = fieldsOf(onlyObject(poolFile).value['spec']);
  const { name } = fieldsOf(spec['osImageStream']);
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/**
 * Name of the OS stream of pools without their own: `spec.defaultStream` of an OSImageStream among
 * the manifests, which the installer creates from `osImageStream` in the install-config
 * (openshift/api, machineconfiguration/v1).
 * @throws AgentError `layering.malformed-file`, `layering.wrong-object`
 */
export function defaultStreamIn(manifests: readonly SourceFile[]): string | undefined {
  const names = manifests
    .filter(({ text }) => /\bOSImageStream\b/.test(text))
    .flatMap((file) => readObjects(file))
    .filter(({ value }) => value['kind'] === 'OSImageStream')
    .map(({ value }) => fieldsOf(value['spec'])['defaultStream']);
  return names.find((name) => typeof name === 'string' && name !== '') as string | undefined;
}

/**
 * The operating system of a rendered MachineConfig, by digest.
 * @throws AgentError as `readMachineConfig`, and `layering.machine-config-invalid`
 */
export function osImageIn(renderedFile: SourceFile): string {
  const object = onlyObject(renderedFile);
  const { osImageURL, name } = readMachineConfig(object);
  if (!/@sha256:[0-9a-f]{64}$/.test(osImageURL)) {
    const place = object.place(['spec', 'osImageURL']);
    throw invalid(`${place}: ${osImageURL} of ${name} has no digest`);
  }
  const annotations = fieldsOf(fieldsOf(object.value['metadata'])['annotations']);
  for (const key of [controllerVersionKey, releaseVersionKey]) {
    if (typeof annotations[key] === 'string' && annotations[key] !== '') continue;
    throw invalid(`${object.place(['metadata', 'annotations'])}: ${name} has no annotation ${key}`);
  }
  return osImageURL;
}

function onlyObject(file: SourceFile): SourceObject {
  const [object] = readObjects(file);
  if (object !== undefined) return object;
  throw layeringFailure('layering.wrong-object', `${file.path}: it holds no object`);
}

const invalid = (message: string): Error =>
  layeringFailure('layering.machine-config-invalid', message);
