import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempDisposableSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  type Architecture,
  agentBase,
  architectures,
  ownArchitecture,
} from '../../scripts/parts/agent-base.ts';
import { ensurePart, takeLock } from '../../scripts/parts/ensure.ts';
import { cacheFolder } from '../../scripts/parts/part.ts';

const top = resolve(import.meta.dirname, '../..');

/** The base of the image if no registry is reachable. */
const baseContainerfile = `FROM scratch
ADD root.tar /
# npm may reach its registry by a proxy whose certificate this machine trusts.
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
`;

/** Makes the base for an architecture, and resolves with its name in the store. */
async function makeBase(store: ContainerStore, architecture: Architecture): Promise<string> {
  const name = `localhost/bootwright-base:${architecture}`;
  using context = mkdtempDisposableSync(join(tmpdir(), 'bootwright-base-'));
  const at = (path: string): string => join(context.path, path);
  copyFileSync(join(await ensurePart(agentBase(architecture)), 'root.tar'), at('root.tar'));
  copyFileSync('/etc/ssl/certs/ca-certificates.crt', at('ca-certificates.crt'));
  writeFileSync(at('Containerfile'), baseContainerfile);
  const same = ['--layers', '--timestamp', '0', '--arch', architecture] as const;
  await store.run('buildah', 'build', ...same, '--tag', name, context.path);
  return name;
}

/**
 * Makes the bases of this machine, and a `podman` that builds the image on them: if a build names
 * no base, and in the tree of a test without a Containerfile. Resolves with the folder to put first
 * on PATH.
 */
export async function podmanWithBases(store: ContainerStore): Promise<string> {
  const folder = join(store.images, '..', 'bin');
  // Another process may make the same bases.
  await using _lock = await takeLock(join(store.images, '..', 'build.lock'));
  const bases = await Promise.all(architectures.map((one) => makeBase(store, one)));
  const [own, arm64] = [bases[architectures.indexOf(ownArchitecture)], bases[1]];
  mkdirSync(folder, { recursive: true });
  const script = `#!/bin/sh
if [ "$1" = build ]; then
  shift
  case "$*" in *linux/arm64*) base=${arm64 ?? ''} ;; *) base=${own ?? ''} ;; esac
  [ -e Containerfile ] || cd '${top}'
  set -- build --build-arg BASE=$base --build-arg BUILD=${own ?? ''} "$@"
fi
exec /usr/bin/podman "$@"
`;
  // Another process may be running it.
  const made = join(folder, `podman.${process.pid}`);
  writeFileSync(made, script, { mode: 0o755 });
  renameSync(made, join(folder, 'podman'));
  return folder;
}

/**
 * Runs a command line in the tree with the podman of `podmanWithBases`, and resolves with its
 * output.
 */
export async function buildBy(store: ContainerStore, line: string): Promise<string> {
  const PATH = `${await podmanWithBases(store)}:${process.env['PATH'] ?? ''}`;
  return store.run('env', `PATH=${PATH}`, 'sh', '-euc', `cd '${top}'\n${line}`);
}

/** Builds the agent's image from the tree, for this machine. */
export async function buildAgentImage(store: ContainerStore, name: string): Promise<void> {
  await buildBy(store, `podman build --tag ${name} .`);
}

/** Calls `use` with the folder that would be a container's root. */
export async function withImageRoot<T>(
  store: ContainerStore,
  image: string,
  use: (folder: string) => T | Promise<T>,
): Promise<T> {
  const container = await store.run('buildah', 'from', '--pull-never', image);
  try {
    return await use(await store.run('buildah', 'mount', container));
  } finally {
    await store.run('buildah', 'rm', container);
  }
}

const execute = promisify(execFile);

/** A store of container images for tests, separate from the machine's. */
export interface ContainerStore {
  /** Folder of the images; another store may use it read-only. */
  readonly images: string;
  /** Environment for programs: the store's settings, and how to run containers without systemd. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Runs a program on the store and resolves with its output. Throws with its standard error if it
   * fails.
   */
  readonly run: (program: string, ...args: readonly string[]) => Promise<string>;
}

/** Opens the store in the folder of the real parts. */
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

const storageConfig = (folder: string): string => `[storage]
driver = "overlay"
graphroot = "${folder}/images"
runroot = "/run/bootwright-containers"
`;

/** Podman must not use systemd, which some machines for building and testing images lack. */
const containersConfig = `[containers]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
`;
