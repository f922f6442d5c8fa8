import { type FileKind, ifPresent, readFileOf } from '../adapters/file-access.ts';
import { codeOf, ownOrHost } from '../adapters/host-root.ts';
import { AgentError } from '../model/failure.ts';
import { readWriterArgs, type WriterUse } from '../settings/writer-args.ts';
import { configFailure, raise, type Refuse, refusedBy } from './failures.ts';
import { networkFolderOf } from './complete.ts';
import { readValue } from './read-value.ts';
import type { Config } from './schema.ts';
import {
  type SettingValue,
  type Layer,
  mergeLayers,
  secretFiles,
  type SettingKey,
  textIn,
} from './settings.ts';
import type { ConfigFile } from './yaml-file.ts';

/** Path of the default file. It is read, if it exists, before every `--config`. */
export const defaultConfigFile = '/etc/bootwright/config.yaml';

/**
 * Reads the default configuration file, if it exists, and every named file.
 * @param refuse takes each file that cannot be read; throws the first unless given
 * @throws AgentError `config.file-not-read`
 */
export async function readConfigFiles(
  named: readonly string[],
  refuse: Refuse = raise,
): Promise<readonly ConfigFile[]> {
  const byDefault = ifPresent(readHere(defaultConfigFile, 'settings')).catch(
    notRead(defaultConfigFile),
  );
  const text = await byDefault.catch(refusedBy(refuse));
  const files = text ? [{ path: defaultConfigFile, text: text.toString() }] : [];
  for (const path of named) {
    const reading = readNamed({ path, kind: 'settings', origin: 'flag --config' });
    const own = await reading.catch(refusedBy(refuse));
    if (own !== undefined) files.push({ path, text: own });
  }
  return files;
}

/** Reads podman's information about the container. A container without it gets no setting. */
export async function readContainer(path = containerFile): Promise<Layer> {
  const text = await readFileOf({ at: path, kind: 'settings' }).catch(() => '');
  return containerLayer(text.toString());
}

/**
 * Reads secrets from their files; a secret in the environment has priority over its file.
 * @param refuse takes each file that cannot be read; throws the first unless given
 * @throws AgentError `config.file-not-read`
 */
export async function readSecretFiles(
  layers: readonly Layer[],
  refuse: Refuse = raise,
): Promise<Layer> {
  const given = mergeLayers(layers);
  const secrets = new Map<SettingKey, SettingValue>();
  for (const [secret, file] of Object.entries(secretFiles)) {
    const key = secret as SettingKey;
    const path = textIn(given, file);
    if (path === '' || given.has(key)) continue;
    const origin = given.get(file)?.origin ?? 'default';
    const text = await readHere(path, 'secret')
      .catch((cause: unknown) => {
        // Where no file is found, its path is often the secret itself.
        const shown = cause instanceof AgentError ? cause : new Error(codeOf(cause));
        return notRead(`the file of ${key}`, origin)(shown);
      })
      .catch(refusedBy(refuse));
    if (text !== undefined)
      secrets.set(key, { value: readValue(key, text.toString()), origin: `file ${path}` });
  }
  return secrets;
}

/**
 * Checks files that only the run opens, before the run starts.
 * @throws AgentError `config.file-not-read`
 */
export async function requireFiles({
  config,
  origins,
}: {
  readonly config: Config;
  readonly origins: ReadonlyMap<SettingKey, string>;
}): Promise<void> {
  const { caFile, insecure } = config.service;
  if (caFile === '' || insecure) return;
  const origin = origins.get('service.caFile') ?? 'default';
  await readNamed({ path: caFile, kind: 'authorities', origin });
}

const fileOptions = ['config-file', 'image-file', 'ignition-file', 'network-dir'];

/** Settings, with the layer that sets them. */
interface GivenConfig {
  readonly config: Config;
  readonly given: Layer;
}

/**
 * Options of `image.writerArgs` that name a file or a folder of the host, with its path. Leaves out
 * the folder of the network, which has its own setting.
 */
export function writerFiles({ config, given }: GivenConfig): readonly WriterUse[] {
  const folder = networkFolderOf(given)?.folder;
  return readWriterArgs(config.image.writerArgs).uses.filter(
    ({ option, value }) => fileOptions.includes(option) && value !== folder,
  );
}

interface NamedFile {
  readonly path: string;
  readonly kind: FileKind;
  /** Origin of the path; undefined for a default path. */
  readonly origin?: string;
}

/**
 * The text of a file that a setting or an option names.
 * @throws AgentError `config.file-not-read`
 */
export const readNamed = async (file: NamedFile): Promise<string> =>
  (await readNamedBytes(file)).toString();

/**
 * Reads a file that may be binary.
 * @throws AgentError `config.file-not-read`
 */
export const readNamedBytes = ({ path, kind, origin }: NamedFile): Promise<Buffer> =>
  readHere(path, kind).catch(notRead(path, origin));

/** Reads a file of the container, or else of the host. */
const readHere = async (path: string, kind: FileKind): Promise<Buffer> =>
  readFileOf({ at: await ownOrHost(path), path, kind });

/**
 * Throws the error of an unreadable file that a setting or an option names; for `catch`.
 * @throws AgentError `config.file-not-read`
 */
export const notRead =
  (path: string, origin?: string) =>
  (cause: unknown): never => {
    const place = origin === undefined ? '' : `${origin}: `;
    const details = { cause, context: { file: path } };
    throw configFailure('config.file-not-read', `${place}${path} cannot be read`, details);
  };

/**
 * Podman writes information about a privileged container here (podman-run(1),
 * "/run/.containerenv"): lines of `name="value"`. The file of an unprivileged container is empty,
 * and docker writes no file.
 */
export const containerFile = '/run/.containerenv';

/**
 * Settings from the container in which the program runs: its own image. Other hosts cannot pull an
 * image that was built on this host, so such an image counts as unknown.
 */
export function containerLayer(text: string): Layer {
  const settings = new Map<SettingKey, SettingValue>();
  const image = /^image="([^"\\]+)"$/m.exec(text)?.[1] ?? '';
  if (image !== '' && !image.startsWith('localhost/')) {
    settings.set('images.self', { value: image, origin: 'container' });
  }
  return settings;
}
