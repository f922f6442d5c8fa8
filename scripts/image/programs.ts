import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReleaseError } from '../changelog.ts';
import { type Architecture, ownArchitecture } from '../parts/agent-image.ts';
import { type ContainerStore, withImageRoot } from './agent-image.ts';

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
} as const;

/** What each program of an image printed, after its exit code: `0 v24.21.0 s390x BE`. */
export type StartedPrograms = Readonly<Record<keyof typeof commands, string>>;

/** Starts the programs of an image, by an emulator where it is for another architecture than this machine's. */
export const startPrograms = (
  store: ContainerStore,
  image: string,
  architecture: Architecture,
): Promise<StartedPrograms> =>
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
    return Object.fromEntries(await Promise.all(started)) as StartedPrograms;
  });

/**
 * Holds an image to be of a version: each program starts on its architecture, and Bootwright prints the version.
 * @throws ReleaseError that names what does not start
 */
export async function checkPrograms(
  store: ContainerStore,
  image: string,
  { architecture, version }: { readonly architecture: Architecture; readonly version: string },
): Promise<void> {
  const started = await startPrograms(store, image, architecture);
  const wrong = Object.entries(started).filter(([name, end]) =>
    name === 'bootwright' ? end !== `0 ${version}` : !end.startsWith('0 '),
  );
  if (wrong.length === 0) return;
  const ends = wrong.map(([name, end]) => `${name} ends with ${end}`).join('\n');
  throw new ReleaseError(`the image for ${architecture} does not start: ${ends}`);
}
