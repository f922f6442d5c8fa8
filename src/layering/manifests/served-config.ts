import { Buffer } from 'node:buffer';
import { ENCAPSULATED_PATH, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { decodeResource, encodeDataUrl, readFileContent } from '../../ignition/resource.ts';
import type { Config } from '../../ignition/types.ts';
import { nodeKeys } from '../api/node-keys.ts';
import { isFields, type Fields, type Value, fieldsOf, textOf } from '../../lib/fields.ts';
import { layeringFailure } from '../failures.ts';

/**
 * The file with a node's first annotations, a map of texts, from the machine-config-server
 * (machine-config-operator, `pkg/daemon/constants`).
 */
export const NODE_ANNOTATIONS_PATH = '/etc/machine-config-daemon/node-annotations.json';

/** The names in the config that a machine-config-server serves to the machines of a pool. */
export interface ServedConfig {
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  /** Image of the operating system after the first boot. */
  readonly osImage: string;
  /**
   * The image that the node reports as its current one; undefined for a pool that is not layered.
   */
  readonly currentImage: string | undefined;
  /**
   * The image that the node should run. It equals the current one; otherwise the node would switch
   * again.
   */
  readonly desiredImage: string | undefined;
}

/**
 * Reads the answer of a machine-config-server, in Ignition spec 3. Both names of the rendered
 * MachineConfig must be equal: a node that starts with two names stays degraded.
 * @throws AgentError `layering.served-config-invalid`, and as `readEncapsulated` and `parseConfig`
 */
export function readServedConfig(ignitionText: Uint8Array | string): ServedConfig {
  const { osImageURL } = readEncapsulated(ignitionText);
  const config = parseConfig(ignitionText);
  const annotations = objectIn(config, NODE_ANNOTATIONS_PATH);
  const rendered = textOf(annotations[nodeKeys.desiredConfig]);
  const named = textOf(fieldsOf(objectIn(config, ENCAPSULATED_PATH)['metadata'])['name']);
  if (rendered === '' || named !== rendered) {
    throw invalid(
      `the annotations name the MachineConfig ${rendered || '(none)'}, and the server serves ${named || 'one without a name'}`,
    );
  }
  return {
    rendered,
    osImage: osImageURL,
    currentImage: textOf(annotations[nodeKeys.currentImage]) || undefined,
    desiredImage: textOf(annotations[nodeKeys.desiredImage]) || undefined,
  };
}

/**
 * The reason why a machine with the served config does not boot straight into an image; undefined
 * when all three places name the image.
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
  const text = decoded(readFileContent(config, path));
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
 * and reports it when it joins. The machine-config-server of the cluster serves the same config
 * once a machine of the pool runs the image. Both places change or neither: a node that reports
 * another image than the booted one never becomes Done.
 * @throws AgentError `layering.served-config-invalid`, and as `parseConfig`
 */
export function overlayImage(served: Uint8Array | string, image: string): string {
  readServedConfig(served);
  const config = parseConfig(served);
  const machineConfig = objectIn(config, ENCAPSULATED_PATH);
  const annotations: Fields = {
    ...objectIn(config, NODE_ANNOTATIONS_PATH),
    [nodeKeys.currentImage]: image,
    [nodeKeys.desiredImage]: image,
  };
  const spec = { ...fieldsOf(machineConfig['spec']), osImageURL: image };
  const changed = new Map([
    // The server writes the annotations from a map, whose keys Go sorts.
    [NODE_ANNOTATIONS_PATH, JSON.stringify(annotations, Object.keys(annotations).toSorted())],
    [ENCAPSULATED_PATH, JSON.stringify({ ...machineConfig, spec })],
  ]);
  const files = (config.storage?.files ?? []).map((file) => {
    const text = changed.get(file.path);
    if (text === undefined) return file;
    return { ...file, contents: { source: `data:,${encodeURIComponent(text)}` } };
  });
  return JSON.stringify({ ...config, storage: { ...config.storage, files } });
}

/**
 * Embeds a config in the pointer that leads to it, so that the first boot fetches nothing: the
 * machine must boot with the overlaid config, even if the server changes its answer. The other
 * fields of the pointer, a host name above all, stay.
 * @throws AgentError `ignition.pointer-missing`, and as `parseConfig` and `readPointer`
 */
export function embedServed(pointerText: Uint8Array | string, served: string): string {
  const config = parseConfig(pointerText);
  readPointer(config);
  const { ignition } = config;
  const references = ignition.config?.merge ?? [];
  const merge = references.with(
    references.findIndex(({ source = '' }) => source !== ''),
    { source: encodeDataUrl(Buffer.from(served), 'application/json') },
  );
  return JSON.stringify({
    ...config,
    ignition: { ...ignition, config: { ...ignition.config, merge } },
  });
}

/** The file of a node with the repository of its pool's images. */
export const OS_REPOSITORY_PATH = '/etc/bootwright/os-image-repository';

/** Name of the MachineConfig with the repository. */
export const repositoryConfigName = (pool: string): string => `99-bootwright-os-repository-${pool}`;

/**
 * The MachineConfig with the repository: a host that is served the config of the pool finds the
 * repository in it, HOST/[NAMESPACE/]NAME.
 */
export const repositoryConfig = (pool: string, repository: string): Fields => ({
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
 * The repository in a served config; undefined without one.
 * @throws AgentError as `parseConfig` and `decodeResource`
 */
export function repositoryIn(served: Uint8Array | string): string | undefined {
  const files = parseConfig(served).storage?.files ?? [];
  const file = files.find(({ path }) => path === OS_REPOSITORY_PATH);
  if (file === undefined) return undefined;
  return decoded(decodeResource(file.contents ?? {})).trim();
}

/** The file of a node with the cluster's pull secret. */
export const NODE_PULL_SECRET_PATH = '/var/lib/kubelet/config.json';

const ANCHORS = '/etc/pki/ca-trust/source/anchors/';

/**
 * Reads the machine's credentials and certificates for pulls from a served config: a live system
 * has neither the pull secret of the cluster nor the certificates of its administrators.
 * @param repository HOST[:PORT]/…, whose own certificates count too
 * @returns secrets, and PEM files that are trusted beside those of the system
 * @throws AgentError `ignition.file-missing` without a pull secret, and as `parseConfig`
 */
export function readPullAccess(served: Uint8Array | string, repository: string) {
  const config = parseConfig(served);
  const ofRegistry = `/etc/docker/certs.d/${repository.split('/')[0] ?? ''}/`;
  const certificates = (config.storage?.files ?? []).filter(
    ({ path }) =>
      (path.startsWith(ANCHORS) && /\.(crt|pem|cer)$/.test(path)) ||
      (path.startsWith(ofRegistry) && path.endsWith('.crt')),
  );
  return {
    pullSecret: decoded(readFileContent(config, NODE_PULL_SECRET_PATH)),
    certificates: certificates
      .map(({ contents = {} }) => decoded(decodeResource(contents)))
      .filter((text) => text.includes('-----BEGIN CERTIFICATE-----')),
  };
}

const decoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
