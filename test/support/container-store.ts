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

/** What the image is built upon where no registry of images is in reach. */
const baseContainerfile = `FROM scratch
ADD root.tar /
# npm may reach its registry by a proxy whose certificate this machine trusts.
COPY ca-certificates.crt /etc/ssl/certs/
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
`;

/** Makes the base for an architecture, and gives its name in the store. */
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
 * Makes the bases of this machine, and a `podman` that builds the image upon them: where a build
 * names no base, and in the tree of the test where there is no Containerfile. Gives the folder to
 * put first on PATH.
 */
export async function podmanWithBases(store: ContainerStore): Promise<string> {
  const folder = join(store.images, '..', 'bin');
  // Another process may make the same.
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
  // Another process may run it.
  const made = join(folder, `podman.${process.pid}`);
  writeFileSync(made, script, { mode: 0o755 });
  renameSync(made, join(folder, 'podman'));
  return folder;
}

/**
 * Runs a command line in the tree, with the podman of `podmanWithBases`, and gives what it prints.
 */
export async function buildBy(store: ContainerStore, line: string): Promise<string> {
  const PATH = `${await podmanWithBases(store)}:${process.env['PATH'] ?? ''}`;
  return store.run('env', `PATH=${PATH}`, 'sh', '-euc', `cd '${top}'\n${line}`);
}

/** Builds the agent's image of the tree, for this machine. */
export async function buildAgentImage(store: ContainerStore, name: string): Promise<void> {
  await buildBy(store, `podman build --tag ${name} .`);
}

/** Calls `use` with the folder that a container of an image would have as its root. */
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

/** Where container images lie that tests build, apart from those of the machine. */
export interface ContainerStore {
  /** Where the images are; another store may name it as one that it only reads. */
  readonly images: string;
  /** For programs that use it: what it is, and how containers are run where there is no systemd. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Runs a program on it and gives what was printed. Throws with its standard error when it fails.
   */
  readonly run: (program: string, ...args: readonly string[]) => Promise<string>;
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
