import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { ENCAPSULATED_PATH, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { decodeResource, encodeDataUrl, readFileContent } from '../../ignition/resource.ts';
import type { Config, File } from '../../ignition/types.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { isFields, type Fields, type Value, fieldsOf, textOf } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';

/**
 * Where the machine-config-server puts the first annotations of a node: a map of texts
 * (machine-config-operator, `pkg/daemon/constants`).
 */
export const NODE_ANNOTATIONS_PATH = '/etc/machine-config-daemon/node-annotations.json';

/** What a machine-config-server serves to the machines of a pool. */
export interface ServedConfig {
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  /** Image of the operating system that the first boot ends in. */
  readonly osImage: string;
  /** The image that the node says it runs; only a layered pool has one. */
  readonly currentImage?: string;
  /** The image that the node should run: the same one, or the node would switch again. */
  readonly desiredImage?: string;
}

/**
 * Reads the answer of a machine-config-server, in Ignition spec 3. Both names of the rendered
 * MachineConfig must be equal: a node that starts with two stays degraded.
 * @throws AgentError `layering.served-config-invalid`, and as `readEncapsulated` and `parseConfig`
 */
export function readServedConfig(ignitionText: Uint8Array | string): ServedConfig {
  const { osImageURL } = readEncapsulated(ignitionText);
  const config = parseConfig(ignitionText);
  const annotations = objectIn(config, NODE_ANNOTATIONS_PATH);
  const rendered = textOf(annotations[nodeKeys.desiredConfig]) || undefined;
  const metadata = objectIn(config, ENCAPSULATED_PATH)['metadata'];
  const named = textOf(fieldsOf(metadata)['name']) || undefined;
  if (rendered === undefined || named !== rendered) {
    throw invalid(
      `the annotations name the MachineConfig ${rendered ?? '(none)'}, and the server serves ${named ?? 'one without a name'}`,
    );
  }
  const currentImage = textOf(annotations[nodeKeys.currentImage]) || undefined;
  const desiredImage = textOf(annotations[nodeKeys.desiredImage]) || undefined;
  return {
    rendered,
    osImage: osImageURL,
    ...(currentImage === undefined ? {} : { currentImage }),
    ...(desiredImage === undefined ? {} : { desiredImage }),
  };
}

/**
 * What keeps a served config from booting a machine straight into an image; nothing when all three
 * places name it.
 */
export function servedImageProblem(
  { osImage, currentImage, desiredImage }: ServedConfig,
  image: string,
): string | undefined {
  const places = { osImageURL: osImage, currentImage, desiredImage };
  const wrong = Object.entries(places).filter(([, value]) => value !== image);
  if (wrong.length === 0) return undefined;
  const said = wrong.map(([place, value]) => `${place} is ${value ?? 'not set'}`);
  return `${said.join(', ')} instead of ${image}`;
}

function objectIn(config: Config, path: string): Fields {
  const text = Buffer.from(readFileContent(config, path)).toString('utf8');
  try {
    const value = JSON.parse(text) as Value;
    if (isFields(value)) return value;
  } catch {
    // The parser's message may quote the content.
  }
  throw invalid(`${path} is not a JSON object`);
}

const invalid = (message: string): Error =>
  layeringFailure('layering.served-config-invalid', message);

/**
 * Overlays an image on a served config, in the two places that name one: the machine boots into it,
 * and says so when it joins. It is what the machine-config-server of the cluster serves by itself
 * once a machine of the pool runs the image. Both change or none: a node that names another image
 * than it boots never becomes Done.
 * @throws AgentError `layering.served-config-invalid`, and as `parseConfig`
 */
export function overlayImage(served: Uint8Array | string, image: string): string {
  readServedConfig(served);
  const config = parseConfig(served);
  const files = (config.storage?.files ?? []).map((file) => {
    const overlay = overlays[file.path];
    return overlay === undefined ? file : withContent(file, overlay, image);
  });
  return JSON.stringify({ ...config, storage: { ...config.storage, files } });
}

type Overlay = (content: Fields, image: string) => Fields;

const overlays: Readonly<Record<string, Overlay>> = {
  // The server writes the annotations from a map, whose keys Go sorts.
  [NODE_ANNOTATIONS_PATH]: (annotations, image) =>
    Object.fromEntries(
      Object.entries({
        ...annotations,
        [nodeKeys.currentImage]: image,
        [nodeKeys.desiredImage]: image,
      }).sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
  [ENCAPSULATED_PATH]: (machineConfig, image) => ({
    ...machineConfig,
    spec: { ...fieldsOf(machineConfig['spec']), osImageURL: image },
  }),
};

function withContent(file: File, overlay: Overlay, image: string): File {
  const { contents = {} } = file;
  const text = Buffer.from(decodeResource(contents)).toString('utf8');
  const changed = JSON.stringify(overlay(fieldsOf(JSON.parse(text) as Value), image));
  const { source = '', compression = '' } = contents;
  const isPacked = compression === 'gzip';
  const bytes = isPacked ? gzipSync(changed) : Buffer.from(changed);
  // The other fields, such as a hash, are of the old content.
  const kept = compression === '' ? {} : { compression };
  return { ...file, contents: { ...kept, source: encodeAs(source, bytes, isPacked) } };
}

/**
 * A data URL of the same media type and encoding as another; bytes that are no text need base64.
 */
function encodeAs(source: string, bytes: Buffer, isBinary: boolean): string {
  const header = source.slice(0, source.indexOf(',') + 1);
  if (header.endsWith(';base64,')) return header + bytes.toString('base64');
  if (isBinary) return `${header.slice(0, -1)};base64,${bytes.toString('base64')}`;
  return header + encodeURIComponent(bytes.toString('utf8'));
}

/**
 * Embeds a config in the pointer that leads to it, so that the first boot fetches nothing: the
 * machine must boot with the overlaid config, whatever is served by then. The other fields of the
 * pointer, a host name above all, stay.
 * @throws AgentError `ignition.pointer-missing`, and as `parseConfig` and `readPointer`
 */
export function embedServed(pointerText: Uint8Array | string, served: string): string {
  const config = parseConfig(pointerText);
  readPointer(config);
  const { ignition } = config;
  const merge = ignition.config?.merge ?? [];
  const place = merge.findIndex(({ source = '' }) => source !== '');
  const embedded = { source: encodeDataUrl(Buffer.from(served), 'application/json') };
  return JSON.stringify({
    ...config,
    ignition: {
      ...ignition,
      config: {
        ...ignition.config,
        merge: merge.map((resource, index) => (index === place ? embedded : resource)),
      },
    },
  });
}

/** Where a node of a pool has the name of the repository with its images. */
export const OS_REPOSITORY_PATH = '/etc/bootwright/os-image-repository';

/** The repository with the images of a pool: HOST/[NAMESPACE/]NAME. */
export interface PoolRepository {
  readonly pool: string;
  readonly repository: string;
}

/** Name of the MachineConfig that names the repository. */
export const repositoryConfigName = (pool: string): string => `99-bootwright-os-repository-${pool}`;

/** That MachineConfig: a host that is served the config of the pool finds the repository in it. */
export const repositoryConfig = ({ pool, repository }: PoolRepository): Fields => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: repositoryConfigName(pool),
    labels: { 'machineconfiguration.openshift.io/role': pool },
  },
  spec: {
    config: {
      ignition: { version: '3.2.0' },
      storage: {
        files: [
          {
            path: OS_REPOSITORY_PATH,
            mode: 0o644,
            overwrite: true,
            contents: { source: `data:,${encodeURIComponent(`${repository}\n`)}` },
          },
        ],
      },
    },
  },
});

/**
 * The repository that a served config names; undefined where it names none.
 * @throws AgentError as `parseConfig` and `decodeResource`
 */
export function repositoryIn(served: Uint8Array | string): string | undefined {
  const files = parseConfig(served).storage?.files ?? [];
  const file = files.find(({ path }) => path === OS_REPOSITORY_PATH);
  if (file === undefined) return undefined;
  return Buffer.from(decodeResource(file.contents ?? {}))
    .toString('utf8')
    .trim();
}

/** Where a node has the pull secret of the cluster. */
export const NODE_PULL_SECRET_PATH = '/var/lib/kubelet/config.json';

const ANCHORS = '/etc/pki/ca-trust/source/anchors/';

/** What a node pulls images with. All of it is secret, or describes the site. */
export interface PullAccess {
  readonly pullSecret: string;
  /** PEM files that are trusted beside those of the system. */
  readonly certificates: readonly string[];
}

/**
 * Reads from a served config what the machine will pull with: a live system knows neither the pull
 * secret of the cluster nor the certificates that its administrators added.
 * @param repository HOST[:PORT]/…, whose own certificates count too
 * @throws AgentError `ignition.file-missing` without a pull secret, and as `parseConfig`
 */
export function readPullAccess(served: Uint8Array | string, repository: string): PullAccess {
  const config = parseConfig(served);
  const ofRegistry = `/etc/docker/certs.d/${repository.split('/')[0] ?? ''}/`;
  const certificates = (config.storage?.files ?? []).filter(
    ({ path }) =>
      (path.startsWith(ANCHORS) && /\.(crt|pem|cer)$/.test(path)) ||
      (path.startsWith(ofRegistry) && path.endsWith('.crt')),
  );
  return {
    pullSecret: textOfBytes(readFileContent(config, NODE_PULL_SECRET_PATH)),
    certificates: certificates
      .map(({ contents = {} }) => textOfBytes(decodeResource(contents)))
      .filter((text) => text.includes('-----BEGIN CERTIFICATE-----')),
  };
}

const textOfBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
