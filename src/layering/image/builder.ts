import type { RegistryAccess } from './copy-argv.ts';

/** A program that builds images. */
export type BuilderName = 'buildah' | 'podman';

/** Which program builds, and why. */
export interface BuilderChoice {
  readonly name: BuilderName;
  readonly reason: string;
}

/** Looks whether a program is there. */
export const builderVersionArgv = (name: BuilderName): readonly string[] => [name, '--version'];

/**
 * Chooses the program that builds: buildah is what the cluster's own builder runs; podman is on every CoreOS and
 * builds by the same library.
 */
export function chooseBuilder(there: ReadonlySet<BuilderName>): BuilderChoice | undefined {
  if (there.has('buildah')) {
    return { name: 'buildah', reason: "buildah is there, as in the cluster's own builder" };
  }
  if (!there.has('podman')) return undefined;
  return { name: 'podman', reason: 'there is no buildah, and podman builds by the same library' };
}

/** A store of images that is not that of the user. */
export interface ImageStore {
  readonly storage: string;
  /** Folder for what lives as long as the programs; podman takes at most 50 characters. */
  readonly run: string;
}

/** Words that name the store. The driver `vfs` would copy the whole base for each layer. */
const storeWords = (store: ImageStore | undefined): readonly string[] =>
  store === undefined
    ? []
    : ['--root', store.storage, '--runroot', store.run, '--storage-driver', 'overlay'];

/** A program with its store. */
export interface Builder {
  readonly name: BuilderName;
  readonly store?: ImageStore;
}

/** One build. */
export interface BuildCall extends RegistryAccess {
  readonly context: string;
  readonly containerfile: string;
  /** Name of the image in the store. */
  readonly tag: string;
  /** Names of variables that are handed in as arguments; their values come by the environment. */
  readonly buildArguments: readonly string[];
  /** `SOURCE:TARGET` */
  readonly volumes: readonly string[];
  /** Labels of the image beside those of its Containerfile. */
  readonly labels?: Readonly<Record<string, string>>;
  /** policy.json of the machines, where they have one. */
  readonly policy?: string;
}

/**
 * Builds an image. One layer comes on top of the base, as in the cluster's own builder; the network is that of the
 * host, whose names and proxies a build needs.
 */
export const buildArgv = ({ name, store }: Builder, call: BuildCall): readonly string[] => [
  name,
  ...storeWords(store),
  ...['build', '--layers=false', '--format', 'oci', '--pull=missing', '--network', 'host'],
  ...['--security-opt', 'label=disable'],
  ...accessOf(call),
  ...(call.policy === undefined ? [] : ['--signature-policy', call.policy]),
  ...call.buildArguments.flatMap((argument) => ['--build-arg', argument]),
  ...Object.entries(call.labels ?? {}).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
  ...call.volumes.flatMap((volume) => ['--volume', volume]),
  ...['--tag', call.tag, '--file', call.containerfile, call.context],
];

/** Pushes an image of the store. */
export const pushArgv = (
  { name, store }: Builder,
  {
    tag,
    to,
    digestFile,
    ...access
  }: RegistryAccess & { readonly tag: string; readonly to: string; readonly digestFile: string },
): readonly string[] => [
  name,
  ...storeWords(store),
  ...['push', '--quiet', '--digestfile', digestFile],
  ...accessOf(access),
  ...[tag, `docker://${to}`],
];

/** Prints the configuration of an image of the store, with its architecture and its labels. */
export const localConfigArgv = (builder: Builder, tag: string): readonly string[] => [
  ...['skopeo', 'inspect', '--config', localImage(builder, tag)],
];

/** An image of the store as skopeo names it. */
function localImage({ store }: Builder, tag: string): string {
  const place = store === undefined ? '' : `[overlay@${store.storage}+${store.run}]`;
  return `containers-storage:${place}${tag}`;
}

/** Removes an image from the store. */
export const removeArgv = ({ name, store }: Builder, tag: string): readonly string[] => [
  name,
  ...storeWords(store),
  ...['rmi', '--force', tag],
];

const accessOf = ({ authFile, certificates }: RegistryAccess): readonly string[] => [
  ...(authFile === undefined ? [] : ['--authfile', authFile]),
  ...(certificates === undefined ? [] : ['--cert-dir', certificates]),
];
