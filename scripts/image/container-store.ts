import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { cacheFolder } from '../parts/cache.ts';

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
