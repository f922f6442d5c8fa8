// The prerequisites of a host's own registry: certificates, room, and the container.
import { writeFileSync } from 'node:fs';
import { type Call, fail, print, type Program, type Programs, sortWords } from '../call.ts';
import { pullImage } from '../image-access.ts';
import type { Machine } from '../machine.ts';

const CONTAINER = 'bootwright-registry';

/**
 * `podman run --name bootwright-registry …`, and its `start` and `rm`; undefined for another
 * container.
 */
export function registryContainer(machine: Machine, call: Call): number | undefined {
  if (!call.argv.includes(CONTAINER)) return undefined;
  const refused = call.argv[1] === 'run' ? pullFor(machine, call, 'serve') : undefined;
  if (refused !== undefined) return refused;
  machine.images.isServing = call.argv[1] !== 'rm';
  return 0;
}

/** `podman run … RELEASE image NAME`: the release prints the pull spec of one of its images. */
export function imageOfRelease(machine: Machine, call: Call): number | undefined {
  const [verb, name] = call.argv.slice(-2);
  if (call.argv[1] !== 'run' || verb !== 'image') return undefined;
  const refused = pullFor(machine, call, 'image');
  if (refused !== undefined) return refused;
  return print(call, `${inRelease(name ?? '')}\n`);
}

/** The pull spec of an image in the lab's release. */
export const inRelease = (name: string): string =>
  `quay.example.test/release/${name}@sha256:${'d'.repeat(64)}`;

/** Pulls the image of a container, the word before the first argument of its program. */
function pullFor(machine: Machine, call: Call, word: string): number | undefined {
  if (machine.images.network === undefined) return undefined;
  const image = call.argv[call.argv.lastIndexOf(word) - 1] ?? '';
  const [authFile] = sortWords(call.argv.slice(2), ['--authfile']).all('--authfile');
  const found = pullImage(machine, { image, authFile });
  return typeof found === 'string' ? fail(call, `Error: ${image}: ${found}`, 125) : undefined;
}

/** Answers for the registry of the host: it accepts every client with credentials. */
const curl: Program = ({ images }, call) => {
  const hasCredentials = sortWords(call.argv.slice(1)).has('--config');
  if (!images.isServing) {
    call.out('000');
    return 7;
  }
  return print(call, hasCredentials ? '200' : '401');
};

/** Creates the requested files, with the verb as their content. */
const openssl: Program = ({ files }, call) => {
  const words = sortWords(call.argv.slice(1), ['-out', '-keyout']);
  const made = words.all('-out', '-keyout');
  if (made.length === 0) return fail(call, 'openssl: nothing to make');
  for (const path of made) writeFileSync(files.real(path), `${call.argv[1] ?? ''}\n`);
  return 0;
};

const df: Program = (_machine, call) => print(call, `Avail\n${100 * 2 ** 30}\n`);

/** Programs for a registry on the host. */
export const ownRegistryPrograms: Programs = { curl, openssl, df };
