import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { version } from '../../src/model/version.ts';
import { agentImageBase, type Architecture, ownArchitecture } from '../parts/agent-image.ts';
import { ensurePart, takeLock } from '../parts/ensure.ts';
import { cacheFolder, PartError } from '../parts/part.ts';
import { layOut } from './layout.ts';
import type { GivenNode } from './node-archive.ts';
import { addressLabels, type PackageAddresses, sourceOf } from './source.ts';

const top = resolve(import.meta.dirname, '../..');
const bases = join(top, 'images', 'base');

/** The name of the image in the store, unless another is asked for. */
export const agentImageName = 'localhost/bootwright:latest';

/** What the image is built with. */
export interface AgentImageOptions {
  readonly name?: string;
  /** That of `node`, or of this machine, unless another is asked for. */
  readonly architecture?: Architecture;
  /** Where package-lock.json has no Node for the architecture. */
  readonly node?: GivenNode;
  /** `debian`, `ubi`, or an image that is there or can be pulled; `debian` unless given. */
  readonly base?: string;
}

/** Seconds since 1970 that everything in an image has as its date (reproducible-builds.org/specs/source-date-epoch). */
const epoch = (): string => process.env['SOURCE_DATE_EPOCH'] ?? sourceOf(top).date;

/**
 * The same input gives the same digest: buildah leaves its own version out, and takes no layer of an earlier build, which may
 * have another date.
 */
const reproducible = (): readonly string[] => [
  ...['--timestamp', epoch(), '--identity-label=false', '--no-cache', '--layers=false'],
];

/**
 * Builds the agent's image from the bundle in `dist` and gives its name.
 * @throws PartError for a base that a registry may exchange, or without a library that `node` needs
 */
export async function buildAgentImage(
  store: ContainerStore,
  options: AgentImageOptions = {},
): Promise<string> {
  const { name = agentImageName, node } = options;
  const architecture = architectureOf(options);
  using context = mkdtempDisposableSync(join(tmpdir(), 'bootwright-image-'));
  // A base has one name, and another process may make it with another date.
  await using _lock = await takeLock(join(store.images, '..', 'build.lock'));
  const base = await makeBase(store, options.base ?? 'debian', architecture);
  await withImageRoot(store, base, (root) =>
    layOut(context.path, { architecture, node, base: root }),
  );
  const settings = ['--arch', architecture, '--build-arg', `BASE=${base}`];
  const labels = labelsFor(base);
  const from = ['--file', join(top, 'Containerfile'), '--tag', name, context.path];
  await store.run('buildah', 'build', ...reproducible(), ...settings, ...labels, ...from);
  // A build that was stopped has left its container.
  await store.run('podman', 'image', 'prune', '--external', '--force');
  return name;
}

/** What an image is for. */
export const architectureOf = ({ node, architecture }: AgentImageOptions): Architecture =>
  node?.architecture ?? architecture ?? ownArchitecture;

/** What differs from image to image; the rest is in the `Containerfile`. */
function labelsFor(base: string): readonly string[] {
  const { revision, remote } = sourceOf(top);
  // Our own base has no name that others could look up: the bill of materials has what it is made of.
  const [, name, digest] = /^(.+)@(sha256:.+)$/.exec(base) ?? [];
  const labels = {
    version,
    created: new Date(Number(epoch()) * 1000).toISOString().replace('.000Z', 'Z'),
    ...(revision !== undefined && { revision }),
    ...addressLabels(manifest as PackageAddresses, remote),
    ...(name !== undefined && { 'base.name': name, 'base.digest': digest }),
  };
  return Object.entries(labels).flatMap(([key, value]) => [
    '--label',
    `org.opencontainers.image.${key}=${value}`,
  ]);
}

/** Makes a base where our own is meant, and gives its name in the store. */
async function makeBase(
  store: ContainerStore,
  base: string,
  architecture: Architecture,
): Promise<string> {
  const name = `localhost/bootwright-base:${base}-${architecture}`;
  const build = ['build', ...reproducible(), '--arch', architecture, '--tag', name] as const;
  if (base === 'ubi') {
    await store.run('buildah', ...build, '--file', join(bases, 'ubi.Containerfile'), bases);
    return name;
  }
  if (base !== 'debian') {
    if (!/@sha256:|^localhost\//.test(base))
      throw new PartError(`base ${base} needs a digest: NAME@sha256:...`);
    await store.run('buildah', 'pull', '--policy', 'missing', '--arch', architecture, base);
    return base;
  }
  const rootTar = join(await ensurePart(agentImageBase(architecture)), 'root.tar');
  using context = mkdtempDisposableSync(join(tmpdir(), 'bootwright-base-'));
  copyFileSync(rootTar, join(context.path, 'root.tar'));
  await store.run('buildah', ...build, '--file', join(bases, 'debian.Containerfile'), context.path);
  return name;
}

/** Calls `use` with the folder that a container of an image would have as its root. */
export async function withImageRoot<T>(
  store: ContainerStore,
  image: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const container = await store.run('buildah', 'from', '--pull-never', image);
  try {
    return await use(await store.run('buildah', 'mount', container));
  } finally {
    await store.run('buildah', 'rm', container);
  }
}

const execute = promisify(execFile);

/** Where container images lie that are built here, apart from those of the machine. */
export interface ContainerStore {
  /** Where the images are; another store may name it as one that it only reads. */
  readonly images: string;
  /** For programs that use it: what it is, and how containers are run where there is no systemd. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command on it and gives what was printed. Throws with its standard error when it fails. */
  readonly run: (
    program: 'buildah' | 'podman' | 'skopeo',
    ...args: readonly string[]
  ) => Promise<string>;
}

/** Opens the store beside the real parts. */
export function openContainerStore(): ContainerStore {
  const folder = join(cacheFolder(), '..', 'containers');
  mkdirSync(folder, { recursive: true });
  const environment = {
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
    CONTAINERS_CONF: join(folder, 'containers.conf'),
    BUILDAH_ISOLATION: 'chroot',
  };
  writeFileSync(environment.CONTAINERS_STORAGE_CONF, storageConfig(folder));
  writeFileSync(environment.CONTAINERS_CONF, containersConfig);
  return {
    images: join(folder, 'images'),
    environment,
    run: async (program, ...args) => {
      const env = { ...process.env, ...environment };
      const { stdout } = await execute(program, args, { env, maxBuffer: 16 * 1024 * 1024 });
      return stdout.trim();
    },
  };
}

const driver = 'overlay';
const runroot = '/run/bootwright-containers';

const storageConfig = (folder: string): string => `[storage]
driver = "${driver}"
graphroot = "${folder}/images"
runroot = "${runroot}"
`;

/** An image of a store for programs that know of none (containers-transports(5)). */
export const addressIn = ({ images }: ContainerStore, image: string): string =>
  `containers-storage:[${driver}@${images}+${runroot}]${image}`;

/** podman asks no systemd, which is not everywhere where images are built and tried. */
const containersConfig = `[containers]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
`;
