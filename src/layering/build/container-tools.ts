import { digestOf } from '../../lib/image-name.ts';

/** A program that builds images. */
export type BuilderName = 'buildah' | 'podman';

/** An image store separate from the user's. */
export interface ImageStore {
  readonly storage: string;
  /** Folder for runtime state; podman allows at most 50 characters. */
  readonly run: string;
}

/** A program with its store. */
export interface Builder {
  readonly name: BuilderName;
  readonly store?: ImageStore;
}

/**
 * Options that select the store of a program. The driver `vfs` would copy the whole base for each
 * layer.
 */
const programArgs = ({ name, store }: Builder): readonly string[] =>
  store === undefined
    ? [name]
    : [name, '--root', store.storage, '--runroot', store.run, '--storage-driver', 'overlay'];

/** Parameters of one build. */
export interface BuildCall extends RegistryAccess {
  readonly context: string;
  readonly containerfile: string;
  /** Name of the image in the store. */
  readonly tag: string;
  /** Names of build arguments; the environment has their values. */
  readonly buildArguments: readonly string[];
  /** `SOURCE:TARGET` of each bind mount. */
  readonly volumes: readonly string[];
  /** policy.json of the machines, if they have one. */
  readonly policy?: string | undefined;
}

/**
 * Builds an image. It adds one layer to the base, like the cluster's own builder. The build uses
 * the host network, because it needs the host's DNS and proxies.
 */
export const buildArgv = (builder: Builder, call: BuildCall): readonly string[] => [
  ...programArgs(builder),
  ...['build', '--layers=false', '--format', 'oci', '--pull=missing', '--network', 'host'],
  ...['--security-opt', 'label=disable'],
  ...accessArgs('', call),
  ...(call.policy === undefined ? [] : ['--signature-policy', call.policy]),
  ...call.buildArguments.flatMap((argument) => ['--build-arg', argument]),
  ...call.volumes.flatMap((volume) => ['--volume', volume]),
  ...['--tag', call.tag, '--file', call.containerfile, call.context],
];

/** Pushes an image of the store. */
export const pushArgv = (
  builder: Builder,
  {
    tag,
    to,
    digestFile,
    ...access
  }: RegistryAccess & { readonly tag: string; readonly to: string; readonly digestFile: string },
): readonly string[] => [
  ...programArgs(builder),
  ...['push', '--quiet', '--digestfile', digestFile],
  ...accessArgs('', access),
  ...[tag, `docker://${to}`],
];

/** Prints the configuration of an image of the store, with its architecture and its labels. */
export const localConfigArgv = ({ store }: Builder, tag: string): readonly string[] => {
  const place = store === undefined ? '' : `[overlay@${store.storage}+${store.run}]`;
  return ['skopeo', 'inspect', '--config', `containers-storage:${place}${tag}`];
};

/** Removes an image from the store. */
export const removeArgv = (builder: Builder, tag: string): readonly string[] => [
  ...programArgs(builder),
  ...['rmi', '--force', tag],
];

/** Certificates and credentials for a registry. */
export interface RegistryAccess {
  readonly authFile?: string | undefined;
  /** Folder with certificates that are trusted beside the system's. */
  readonly certificates?: string | undefined;
}

/** An image in a registry. */
export interface ImageAt extends RegistryAccess {
  /**
   * File with registry settings, mirrors above all; without it, the settings of this machine apply.
   */
  readonly registries?: string;
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
}

/** Copies an image from one registry to another, byte by byte: its digests stay the same. */
export const copyImageArgv = (from: ImageAt, to: ImageAt): readonly string[] => [
  ...[...skopeo(from), 'copy', '--quiet', '--preserve-digests'],
  ...accessArgs('src-', from),
  ...accessArgs('dest-', to),
  `docker://${from.image}`,
  `docker://${to.image}`,
];

const inspectAt = (at: ImageAt, ...options: readonly string[]): readonly string[] => [
  ...[...skopeo(at), 'inspect', ...options],
  ...accessArgs('', at),
  `docker://${at.image}`,
];

/** Prints the manifest, or the list of manifests, unchanged from the registry. */
export const registryManifestArgv = (at: ImageAt): readonly string[] => inspectAt(at, '--raw');

/** Prints the digest of a name in the registry. */
export const registryDigestArgv = (at: ImageAt): readonly string[] =>
  inspectAt(at, '--no-tags', '--format', '{{.Digest}}');

/** Prints the configuration of an image in a registry: its architecture and its labels. */
export const registryConfigArgv = (at: ImageAt): readonly string[] => inspectAt(at, '--config');

/** skopeo ignores the variable that podman and buildah read (seen with 1.9). */
const skopeo = ({ registries }: ImageAt): readonly string[] =>
  registries === undefined ? ['skopeo'] : ['skopeo', '--registries-conf', registries];

const accessArgs = (
  prefix: '' | 'src-' | 'dest-',
  { authFile, certificates }: RegistryAccess,
): readonly string[] => [
  ...(authFile === undefined ? [] : [`--${prefix}authfile`, authFile]),
  ...(certificates === undefined ? [] : [`--${prefix}cert-dir`, certificates]),
];

/**
 * The tag that keeps a base in the same repository as the images built on it, so that its blobs
 * stay.
 */
export function baseTag(image: string): string {
  const sum =
    digestOf(image)?.slice('sha256:'.length) ?? /:([^:/@]+)$/.exec(image)?.[1] ?? 'latest';
  return `base-${sum.slice(0, 32)}`;
}

/**
 * A line with which buildah and podman begin an instruction: `[2/3] STEP 4/9: RUN …`, or without
 * the stage.
 */
const STEP = /^(?:\[\d+\/\d+\] )?STEP \d+(?:\/\d+)?: ./;

/** Counts the steps of a build across its stages, from 1, by the lines of its output. */
export function buildSteps(containerfile: string) {
  // A continuation line begins no instruction.
  const of = containerfile
    .replaceAll(/^[ \t]*#.*\n?/gm, '')
    .replaceAll(/\\[ \t]*\n/g, '')
    .split('\n')
    .filter((line) => KEYWORD.test(line)).length;
  let at = 0;
  return (line: string): { readonly at: number; readonly of: number } | undefined => {
    if (!STEP.test(line.trim())) return undefined;
    at = Math.min(at + 1, of);
    return { at, of };
  };
}

const KEYWORD =
  /^\s*(?:FROM|RUN|COPY|ADD|ARG|ENV|LABEL|WORKDIR|USER|VOLUME|CMD|ENTRYPOINT|EXPOSE|HEALTHCHECK|ONBUILD|SHELL|STOPSIGNAL|MAINTAINER)\s/i;
