import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentImageOptions,
  architectureOf,
  buildAgentImage,
  type ContainerStore,
  openContainerStore,
  withImageRoot,
} from './agent-image.ts';
import { archiveImages, mostPackedBytes, type PackedImage } from './archive.ts';
import { sbomPath } from './layout.ts';
import { ReleaseError } from '../changelog.ts';
import { type Architecture, ownArchitecture } from '../parts/agent-image.ts';

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

/** What emulates a processor for the programs of an image (Debian's qemu-user-static). */
const emulators: Readonly<Record<Architecture, string>> = {
  amd64: 'qemu-x86_64-static',
  arm64: 'qemu-aarch64-static',
  ppc64le: 'qemu-ppc64le-static',
  s390x: 'qemu-s390x-static',
};

const program = '/usr/lib/bootwright/bootwright.mjs';

/** Each program of an image, as it says what it is. */
const commands = {
  node: ['/usr/bin/node', '--print', '[process.version, process.arch, os.endianness()].join(" ")'],
  bootwright: ['/usr/bin/node', program, '--version'],
  nsenter: ['/usr/bin/nsenter', '--version'],
  logger: ['/usr/bin/logger', '--version'],
  env: ['/usr/bin/env', '--version'],
};

/**
 * Starts the programs of an image, by an emulator where it is for another architecture than this machine's.
 * Gives what each of them printed, after its exit code: `0 v24.21.0 s390x BE`.
 */
export const startPrograms = (
  store: ContainerStore,
  image: string,
  architecture: Architecture,
): Promise<Readonly<Record<string, string>>> =>
  withImageRoot(store, image, async (root) => {
    const emulator = emulators[architecture];
    const isForeign = architecture !== ownArchitecture;
    // The folder is that of a container, which ends with this.
    if (isForeign) copyFileSync(join('/usr/bin', emulator), join(root, emulator));
    const start = (argv: readonly string[]): Promise<string> =>
      new Promise((done) => {
        execFile(
          'chroot',
          [root, ...(isForeign ? [`/${emulator}`] : []), ...argv],
          (error, out, err) => done(`${String(error?.code ?? 0)} ${out}${err}`.trimEnd()),
        );
      });
    const started = Object.entries(commands).map(
      async ([name, argv]) => [name, await start(argv)] as const,
    );
    return Object.fromEntries(await Promise.all(started));
  });

/**
 * Holds each image of a release to be of its version: each program starts on its architecture, and Bootwright prints the version.
 * @throws ReleaseError that names the image and what does not start in it
 */
export async function checkImages({ version, images }: ReleasedVersion): Promise<void> {
  const store = openContainerStore();
  for (const architecture of images.map(architectureOf)) {
    const started = await startPrograms(store, nameOf(version, architecture), architecture);
    const wrong = Object.entries(started).filter(([name, end]) =>
      name === 'bootwright' ? end !== `0 ${version}` : !end.startsWith('0 '),
    );
    const ends = wrong.map(([name, end]) => `${name} ends with ${end}`).join('\n');
    if (ends !== '')
      throw new ReleaseError(`the image for ${architecture} does not start: ${ends}`);
  }
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
