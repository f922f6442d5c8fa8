import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isNode, isScalar, type YAMLMap } from 'yaml';
import { parseYaml } from '../../lib/yaml-text.ts';
import {
  readMachineConfig,
  controllerVersionKey,
  releaseVersionKey,
} from '../api/machine-config.ts';
import { buildKeys } from '../api/os-build.ts';
import { type Fields, type Value, fieldsOf } from '../api/schema.ts';
import { layeringFailure } from '../failures.ts';
import { readObjects, type SourceFile, type SourceObject } from '../api/source-object.ts';

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
 * the spec: the cluster has the MachineConfig with the OS of the release under it. All else stays the same,
 * to the byte.
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

/** A value with its path in an object: names of fields from the top. */
interface Setting {
  readonly path: readonly [string, string, ...string[]];
  readonly value: string;
}

/** An object as a text, and the error for an unusable one. */
interface ObjectText {
  readonly text: string;
  readonly invalid: (problem: string) => Error;
}

/**
 * The text of an object with other values in it. All else stays the same, to the byte; objects on the way that
 * are not there are added, but for the outermost.
 * @throws what `invalid` gives, for a text that is no such object
 */
function setInText(
  { text, invalid }: ObjectText,
  settings: readonly [Setting, ...Setting[]],
): string {
  const document = parsed(text);
  const [error] = document.errors;
  if (error !== undefined) throw invalid(error.message);
  const edits = settings.map(({ path: [first, ...below], value }) => {
    const map = mapIn(document.contents, first);
    if (map === undefined) throw invalid(`it has no ${first}`);
    return editBelow({ text, map }, below, value);
  });
  // The later place is edited first, so that the earlier one stays where it was.
  const changed = edits
    .sort((one, other) => other.from - one.from)
    .reduce(
      (edited, { from, to, insert }) => edited.slice(0, from) + insert + edited.slice(to),
      text,
    );
  // The edits go by offsets in the text; this checks their result.
  const before: Fields = document.toJS({ maxAliasCount: -1 }) as Fields;
  const meant = settings.reduce(
    (object, { path, value }) => withValue(object, path, value),
    before,
  );
  if (isDeepStrictEqual(parsed(changed).toJS({ maxAliasCount: -1 }), meant)) return changed;
  const places = settings.map(({ path }) => path.slice(0, 2).join('.'));
  throw invalid(`${places.join(' and ')} cannot be changed in its text`);
}

const parsed = (text: string): Document.Parsed =>
  parseYaml(text, { version: '1.1', hasAliases: true });

/** A replacement in a text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** An object within a text. */
interface Place {
  readonly text: string;
  readonly map: YAMLMap;
}

function editBelow(place: Place, [name = '', ...below]: readonly string[], value: Value): Edit {
  const inner = below.length === 0 ? undefined : mapIn(place.map, name);
  if (inner !== undefined) return editBelow({ ...place, map: inner }, below, value);
  const member = below.reduceRight<Value>((within, key) => ({ [key]: within }), value);
  return editOf(place, name, member);
}

function mapIn(node: unknown, key: string): YAMLMap | undefined {
  const value: unknown = isMap(node) ? node.get(key, true) : undefined;
  return isMap(value) && value.items.length > 0 ? value : undefined;
}

/** Sets a field of an object; a new one comes before the first. JSON is YAML in any place. */
function editOf({ text, map }: Place, key: string, value: Value): Edit {
  const json = JSON.stringify(value);
  const pair = map.items.find((item) => isScalar(item.key) && item.key.value === key);
  if (pair !== undefined) {
    const [from, to] = rangeOf(pair.value);
    return { from, to, insert: json };
  }
  const [from] = rangeOf(map.items[0]?.key);
  const indent = text.slice(text.lastIndexOf('\n', from - 1) + 1, from);
  const member = `${JSON.stringify(key)}: ${json}`;
  return { from, to: from, insert: map.flow === true ? `${member}, ` : `${member}\n${indent}` };
}

function rangeOf(node: unknown): readonly [from: number, to: number] {
  const range = isNode(node) ? node.range : undefined;
  return range == null ? [0, 0] : [range[0], range[1]];
}

function withValue(object: Fields, path: readonly string[], value: Value): Fields {
  const [name = '', ...further] = path;
  const inner = object[name];
  return {
    ...object,
    [name]: further.length === 0 ? value : withValue(fieldsOf(inner), further, value),
  };
}

/**
 * The MachineConfig that the machine-config-server of the bootstrap host looks up for a pool: that of the status.
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
