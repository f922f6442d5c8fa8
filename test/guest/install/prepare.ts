import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  buildAgentImage,
  openContainerStore,
  withImageRoot,
} from '../../support/container-store.ts';
import { osDisk } from '../../../scripts/parts/os-disk.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { createFolderDisk } from '../rig/disks.ts';

/** The parts that every guest needs. */
export interface PreparedGuests {
  /** For disks and logs. */
  readonly folder: string;
  /** The root of the agent's container, as a disk. */
  readonly agentDisk: string;
  readonly image: { readonly path: string; readonly sha256: string };
}

/** Enough for Lab CoreOS and a second deployment. */
export const targetMiB = 4096;

/**
 * Minutes and not seconds: guests may have to share two cores with other work. At a load of 19 an
 * installation took longer than twenty.
 */
export const deadlineSeconds = 3000;

/** Builds the agent's disk and looks at the image; the parts must be there. */
export async function prepareGuests(folder: string): Promise<PreparedGuests> {
  const agentDisk = join(folder, 'agent.raw');
  await createAgentDisk(agentDisk);
  const path = join(partFolder(osDisk), 'labcoreos.raw.zst');
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { folder, agentDisk, image: { path, sha256: hash.digest('hex') } };
}

const image = 'localhost/bootwright-test:guest';

/** Builds the shipped image and makes a disk of what a container of it has as its root. */
export async function createAgentDisk(path: string): Promise<void> {
  const store = openContainerStore();
  await buildAgentImage(store, image);
  await withImageRoot(store, image, (folder) => createFolderDisk(path, folder));
}
