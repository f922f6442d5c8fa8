import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildAgentImage, openContainerStore } from '../../support/container-store.ts';
import { createFolderDisk } from '../rig/disks.ts';

const run = promisify(execFile);

const built = 'localhost/bootwright-test:guest';

/**
 * Makes a disk with the shipped image under a name, as podman of a guest finds it in an additional
 * store.
 */
export async function createImageDisk(path: string, name: string): Promise<void> {
  const store = openContainerStore();
  await buildAgentImage(store, built);
  const folder = `${path}.store`;
  const images = join(folder, 'images');
  const target = `containers-storage:[overlay@${images}+${join(folder, 'run')}]${name}`;
  await store.run('buildah', 'push', '--quiet', built, target);
  try {
    await createFolderDisk(path, images);
  } finally {
    // Where the driver keeps its layers is a mount of its own.
    await run('umount', [join(images, 'overlay')]);
    rmSync(folder, { recursive: true });
  }
}
