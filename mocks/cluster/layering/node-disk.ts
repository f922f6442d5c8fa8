// What the Machine Config Daemon keeps on the disk of its node.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Machine } from '../../host/machine.ts';

const folder = '/etc/machine-config-daemon';
const currentImage = `${folder}/currentimage`;

type OnDisk = Pick<Machine, 'files'>;

/** Writes down what a node is; without an image there is no file of one. */
export async function record(
  { files }: OnDisk,
  { rendered, image }: { readonly rendered: string; readonly image: string | undefined },
): Promise<void> {
  await mkdir(await files.real(folder), { recursive: true });
  const config = JSON.stringify({ metadata: { name: rendered } });
  await writeFile(await files.real(`${folder}/currentconfig`), config);
  const place = await files.real(currentImage);
  await (image === undefined ? rm(place, { force: true }) : writeFile(place, image));
}

/** The image that the disk of a node records; empty without one. */
export const recordedOn = async ({ files }: OnDisk): Promise<string> =>
  readFile(await files.real(currentImage), 'utf8').catch(() => '');
