import { ensureBundle } from '../../../scripts/bundle.ts';
import {
  buildAgentImage,
  openContainerStore,
  withImageRoot,
} from '../../../scripts/image/agent-image.ts';
import { createFolderDisk } from '../rig/disks.ts';

const image = 'localhost/bootwright-test:guest';

/** Builds the shipped image and makes a disk of what a container of it has as its root. */
export async function createAgentDisk(path: string): Promise<void> {
  await ensureBundle((text) => process.stderr.write(text));
  const store = openContainerStore();
  await buildAgentImage(store, { name: image });
  await withImageRoot(store, image, (folder) => createFolderDisk(path, folder));
}
