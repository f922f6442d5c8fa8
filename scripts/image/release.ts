import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentImageOptions,
  architectureOf,
  buildAgentImage,
  openContainerStore,
  withImageRoot,
} from './agent-image.ts';
import { archiveImages, mostPackedBytes, type PackedImage } from './archive.ts';
import { sbomPath } from './layout.ts';
import { checkPrograms } from './programs.ts';
import { ReleaseError } from '../changelog.ts';

/** An archive of images that was written, for the notes. */
export interface ReleasedImage {
  /** The architecture, or what all of them are. */
  readonly of: string;
  readonly digest: string;
  readonly megabytes: readonly string[];
}

/** What is made of a release. */
interface ReleasedVersion {
  readonly version: string;
  readonly images: readonly AgentImageOptions[];
}

const nameOf = (version: string, ...architecture: readonly string[]): string =>
  `localhost/bootwright:${[version, ...architecture].join('-')}`;

/**
 * Starts the programs of each image of a release.
 * @throws ReleaseError that names the image and what does not start in it
 */
export async function checkImages({ version, images }: ReleasedVersion): Promise<void> {
  const store = openContainerStore();
  for (const architecture of images.map(architectureOf))
    await checkPrograms(store, nameOf(version, architecture), { version, architecture });
}

/** Writes the images of a release, one by one and behind one index, and the bill of materials of each. */
export async function releaseImages(
  folder: string,
  { version, images }: ReleasedVersion,
): Promise<readonly ReleasedImage[]> {
  const store = openContainerStore();
  const stem = join(folder, `bootwright-${version}`);
  const name = nameOf(version);
  const built: string[] = [];
  const released: ReleasedImage[] = [];
  for (const options of images) {
    const architecture = architectureOf(options);
    const image = await buildAgentImage(store, { ...options, name: nameOf(version, architecture) });
    await withImageRoot(store, image, (root) => {
      copyFileSync(join(root, sbomPath), `${stem}-${architecture}.cdx.json`);
      return Promise.resolve();
    });
    const packed = await archiveImages(store, [image], {
      file: `${stem}-${architecture}.oci.tar`,
      name,
    });
    released.push(releasedAs(`for ${architecture}`, packed));
    built.push(image);
  }
  const packed = await archiveImages(store, built, { file: `${stem}.oci.tar`, name });
  return [releasedAs(`for ${images.map(architectureOf).join(', ')}`, packed), ...released];
}

function releasedAs(of: string, { digest, bytes }: PackedImage): ReleasedImage {
  const megabytes = bytes.map((one) => (one / 1e6).toFixed(1));
  if (bytes.some((one) => one > mostPackedBytes))
    throw new ReleaseError(
      `the image ${of} has ${megabytes.join(' and ')} MB packed; 60 are allowed`,
    );
  return { of, digest, megabytes };
}
