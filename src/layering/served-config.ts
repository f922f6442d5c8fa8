import { Buffer } from 'node:buffer';
import { ENCAPSULATED_PATH, readEncapsulated } from '../ignition/encapsulated.ts';
import { readFileContent } from '../ignition/resource.ts';
import { parseConfig } from '../ignition/parse.ts';
import type { Config } from '../ignition/types.ts';
import { layeringFailure } from './failures.ts';
import { nodeKeys } from './node-keys.ts';
import { isMembers, type Members, type Value } from './schema/schema.ts';

/**
 * Where the machine-config-server puts the annotations that a node is born with: a map of texts
 * (machine-config-operator, `pkg/daemon/constants`).
 */
export const NODE_ANNOTATIONS_PATH = '/etc/machine-config-daemon/node-annotations.json';

/** What a machine-config-server would make of a machine of a pool. */
export interface ServedConfig {
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  /** Image of the operating system that the first boot ends in. */
  readonly osImage: string;
  /** The image that the node says it runs; only a layered pool has one. */
  readonly currentImage?: string;
  /** The image that the node is told to run; the same, or the node is torn between two. */
  readonly desiredImage?: string;
}

/**
 * Reads what a machine-config-server answers, asked for Ignition of spec 3. Both names of the rendered
 * MachineConfig must be one: a node that starts with two stays degraded.
 * @throws AgentError `layering.served-config-invalid`, and as `readEncapsulated` and `parseConfig`
 */
export function readServedConfig(ignitionText: Uint8Array | string): ServedConfig {
  const { osImageURL } = readEncapsulated(ignitionText);
  const { config } = parseConfig(ignitionText);
  const annotations = objectIn(config, NODE_ANNOTATIONS_PATH);
  const rendered = textOf(annotations[nodeKeys.desiredConfig]);
  const metadata = objectIn(config, ENCAPSULATED_PATH)['metadata'];
  const named = isMembers(metadata) ? textOf(metadata['name']) : undefined;
  if (rendered === undefined || named !== rendered) {
    throw invalid(
      `the annotations name the MachineConfig ${rendered ?? '(none)'}, the one that is served is ${named ?? '(without a name)'}`,
    );
  }
  const currentImage = textOf(annotations[nodeKeys.currentImage]);
  const desiredImage = textOf(annotations[nodeKeys.desiredImage]);
  return {
    rendered,
    osImage: osImageURL,
    ...(currentImage === undefined ? {} : { currentImage }),
    ...(desiredImage === undefined ? {} : { desiredImage }),
  };
}

/**
 * What keeps a served config from booting a machine straight into an image; nothing when all three places
 * name it.
 */
export function servedFault(
  { osImage, currentImage, desiredImage }: ServedConfig,
  image: string,
): string | undefined {
  const places = { osImageURL: osImage, currentImage, desiredImage };
  const wrong = Object.entries(places).filter(([, value]) => value !== image);
  if (wrong.length === 0) return undefined;
  const said = wrong.map(([place, value]) => `${place} is ${value ?? 'not set'}`);
  return `${said.join(', ')} instead of ${image}`;
}

function objectIn(config: Config, path: string): Members {
  const text = Buffer.from(readFileContent(config, path)).toString('utf8');
  try {
    const value = JSON.parse(text) as Value;
    if (isMembers(value)) return value;
  } catch {
    // What is no JSON is no object either, and the parser's words may quote the content.
  }
  throw invalid(`${path} is no JSON object`);
}

const textOf = (value: Value | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const invalid = (message: string): Error =>
  layeringFailure('layering.served-config-invalid', message);
