import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isNode, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { layeringFailure } from '../failures.ts';
import { buildKeys } from '../os-build/object.ts';
import { isMembers, type Members, type Value } from '../schema/schema.ts';

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
 * the spec: the cluster has the MachineConfig with the system of the release under it. All else stays as it
 * stands, to the byte.
 * @throws AgentError `layering.machine-config-invalid`
 */
export function servedMachineConfig(text: string, { image, path }: ServedImage): string {
  const document = parsed(text);
  const [error] = document.errors;
  if (error !== undefined) throw invalid(path, error.message);
  const metadata = mapIn(document.contents, 'metadata');
  const spec = mapIn(document.contents, 'spec');
  if (metadata === undefined || spec === undefined) throw invalid(path, 'it is no MachineConfig');
  const edits = [
    editOf(text, spec, ['osImageURL', image]),
    editOf(text, mapIn(metadata, 'annotations') ?? metadata, annotationIn(metadata, image)),
  ];
  // The later place is edited first, so that the earlier one stays where it was.
  const served = edits
    .sort((one, other) => other.from - one.from)
    .reduce(
      (edited, { from, to, insert }) => edited.slice(0, from) + insert + edited.slice(to),
      text,
    );
  // The edits go by places in the text; this says whether they did what was meant.
  const meant = withImage(document.toJS() as Members, image);
  if (!isDeepStrictEqual(parsed(served).toJS(), meant)) {
    throw invalid(path, 'spec.osImageURL and metadata.annotations cannot be changed in its text');
  }
  return served;
}

const parsed = (text: string): Document.Parsed =>
  parseDocument(text, { version: '1.1', prettyErrors: false });

function mapIn(node: unknown, key: string): YAMLMap | undefined {
  const value: unknown = isMap(node) ? node.get(key, true) : undefined;
  return isMap(value) && value.items.length > 0 ? value : undefined;
}

type Member = readonly [key: string, value: Value];

const annotationIn = (metadata: YAMLMap, image: string): Member =>
  mapIn(metadata, 'annotations') === undefined
    ? ['annotations', { [buildKeys.preBuiltImage]: image }]
    : [buildKeys.preBuiltImage, image];

/** A text for a place of another one. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Gives a member of an object its value; a new one comes before the first. JSON is YAML in any place. */
function editOf(text: string, map: YAMLMap, [key, value]: Member): Edit {
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

/** An object with the annotation and the image. */
function withImage(value: Members, image: string): Members {
  const { metadata, spec } = value;
  const annotations = isMembers(metadata) ? metadata['annotations'] : undefined;
  return {
    ...value,
    metadata: {
      ...(isMembers(metadata) ? metadata : {}),
      annotations: {
        ...(isMembers(annotations) ? annotations : {}),
        [buildKeys.preBuiltImage]: image,
      },
    },
    spec: { ...(isMembers(spec) ? spec : {}), osImageURL: image },
  };
}

const invalid = (path: string, message: string): Error =>
  layeringFailure('layering.machine-config-invalid', `${path}: ${message}`);
