// Resolves an image for programs of a simulated host: by the mirrors in its settings, with the
// credentials in a file, at registries that may refuse access.
import { credentialsIn, type HeldImage, placesOf, registryOf } from '../registries/network.ts';
import type { Call } from './call.ts';
import { textOf as textOfFile } from './files.ts';
import { publish } from './images.ts';
import type { Machine } from './machine.ts';

interface ImageRequest {
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
  /** File with a pull secret. */
  readonly authFile: string | undefined;
  /** File with mirrors; the settings of the host by default. */
  readonly settings?: string | undefined;
}

const HOST_SETTINGS = '/etc/containers/registries.conf';

/** Finds an image at the first location that has it; otherwise returns the last refusal. */
export function pullImage(
  machine: Machine,
  { image, authFile, settings = HOST_SETTINGS }: ImageRequest,
): HeldImage | string {
  let last = '';
  for (const place of placesOf(textOf(machine, settings), image)) {
    const refusal = refusalAt(machine, { place, verb: 'pull', authFile });
    const found = refusal === undefined ? machine.images.inRegistries.get(place) : undefined;
    if (found !== undefined) return found;
    last = refusal ?? `reading manifest ${place}: manifest unknown`;
  }
  return last;
}

/** Puts an image into a registry; returns the refusal if the registry refuses it. */
export function pushImage(
  machine: Machine,
  { image: place, authFile }: ImageRequest,
  held: HeldImage,
): string | undefined {
  const refusal = refusalAt(machine, { place, verb: 'push', authFile });
  if (refusal === undefined) publish(machine.images, place, held);
  return refusal;
}

/** Fails a program with the error message of Go's image programs. */
export function failImage(call: Call, refusal: string, exitCode = 1): number {
  call.err(`time="2026-01-01T00:00:00Z" level=fatal msg="${refusal}"\n`);
  return exitCode;
}

interface Asked {
  readonly place: string;
  readonly verb: 'pull' | 'push';
  readonly authFile: string | undefined;
}

function refusalAt(machine: Machine, { place, verb, authFile }: Asked): string | undefined {
  const { network, isServing } = machine.images;
  if (network === undefined) return undefined;
  const registry = registryOf(place);
  if (registry.startsWith('127.0.0.1:')) {
    return isServing ? undefined : `dial tcp ${registry}: connect: connection refused`;
  }
  const secret = authFile === undefined ? '' : textOf(machine, authFile);
  const credentials = secret === '' ? undefined : credentialsIn(secret, registry);
  return network.reach({ by: machine.name, verb, image: place, credentials });
}

const textOf = ({ files }: Machine, path: string): string => textOfFile(files, path) ?? '';
