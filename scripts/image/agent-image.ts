import { execFile } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../src/model/version.ts';
import { agentImageBase } from '../parts/agent-image.ts';
import { ensurePart } from '../parts/ensure.ts';
import { cacheFolder } from '../parts/part.ts';

const top = resolve(import.meta.dirname, '../..');
const debianBase = 'localhost/bootwright-base:debian';

/** The name of the image in the store, unless another is asked for. */
export const agentImageName = 'localhost/bootwright:latest';

/** What the image is built with. */
export interface AgentImageOptions {
  readonly name?: string;
  /** An image that is there or can be pulled; a Debian base is made here without it. */
  readonly base?: string;
  /** Takes nothing from an earlier build. */
  readonly isFresh?: boolean;
}

/**
 * The date of everything in an image: the same input gives the same digest. `SOURCE_DATE_EPOCH` gives another, in seconds
 * since 1970 (reproducible-builds.org/specs/source-date-epoch).
 */
const dated = ['--timestamp', process.env['SOURCE_DATE_EPOCH'] ?? '0'] as const;

/** Builds the agent's image from the bundle in `dist` and gives its name. */
export async function buildAgentImage(
  store: ContainerStore,
  { name = agentImageName, base, isFresh = false }: AgentImageOptions = {},
): Promise<string> {
  const from = base ?? (await makeDebianBase(store));
  const settings = ['--build-arg', `BASE=${from}`, '--build-arg', `VERSION=${version}`];
  // With layers, a second build of the same bundle finds what the first one made.
  const made = ['--layers', ...(isFresh ? ['--no-cache'] : []), ...dated, ...settings];
  await store.run('buildah', 'build', ...made, '--tag', name, top);
  await store.run('podman', 'image', 'prune', '--force');
  return name;
}

async function makeDebianBase(store: ContainerStore): Promise<string> {
  const rootTar = join(await ensurePart(agentImageBase), 'root.tar');
  const context = mkdtempSync(join(tmpdir(), 'bootwright-base-'));
  try {
    placeInContext(rootTar, join(context, 'root.tar'));
    copyFileSync(join(top, 'images/base/Containerfile'), join(context, 'Containerfile'));
    await store.run('buildah', 'build', '--layers', ...dated, '--tag', debianBase, context);
  } finally {
    rmSync(context, { recursive: true });
  }
  return debianBase;
}

function placeInContext(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
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

/** Size of an image in bytes, not compressed. */
export async function imageBytes(store: ContainerStore, image: string): Promise<number> {
  return Number(await store.run('podman', 'image', 'inspect', '--format', '{{.Size}}', image));
}

const execute = promisify(execFile);

/** Where container images lie that are built here, apart from those of the machine. */
export interface ContainerStore {
  /** Where the images are; another store may name it as one that it only reads. */
  readonly images: string;
  /** For programs that use it: what it is, and how containers are run where there is no systemd. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command on it and gives what was printed. Throws with its standard error when it fails. */
  readonly run: (program: 'buildah' | 'podman', ...args: readonly string[]) => Promise<string>;
}

/** Opens the store beside the real parts. */
export function openContainerStore(): ContainerStore {
  const folder = join(cacheFolder(), '..', 'containers');
  mkdirSync(folder, { recursive: true });
  const environment = {
    CONTAINERS_STORAGE_CONF: file(folder, 'storage.conf', storageConfig(folder)),
    CONTAINERS_CONF: file(folder, 'containers.conf', containersConfig),
    BUILDAH_ISOLATION: 'chroot',
  };
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

const storageConfig = (folder: string): string => `[storage]
driver = "overlay"
graphroot = "${folder}/images"
runroot = "/run/bootwright-containers"
`;

/** podman asks no systemd, which is not everywhere where images are built and tried. */
const containersConfig = `[containers]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
`;

function file(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
