// How programs of a simulated host come to an image: by the mirrors of its settings, with the
// credentials of a file, at registries that let them in or not.
import { credentialsIn, type HeldImage, placesOf, registryOf } from '../registries/network.ts';
import type { Call } from './call.ts';
import { readFile } from './files.ts';
import { publish } from './images.ts';
import type { Machine } from './machine.ts';

/** An image that a program asks for. */
interface ImageRequest {
  /** HOST/PATH:TAG or HOST/PATH@DIGEST */
  readonly image: string;
  /** File with a pull secret. */
  readonly authFile: string | undefined;
  /** File with mirrors; that of the host unless given. */
  readonly settings?: string | undefined;
}

const HOST_SETTINGS = '/etc/containers/registries.conf';

/** Finds an image at the first place that has it; the words of the last refusal when none does. */
export async function pullImage(
  machine: Machine,
  { image, authFile, settings = HOST_SETTINGS }: ImageRequest,
): Promise<HeldImage | string> {
  let last = '';
  for (const place of placesOf(await textOf(machine, settings), image)) {
    const refusal = await refusalAt(machine, { place, verb: 'pull', authFile });
    const found = refusal === undefined ? machine.images.inRegistries.get(place) : undefined;
    if (found !== undefined) return found;
    last = refusal ?? `reading manifest ${place}: manifest unknown`;
  }
  return last;
}

/** Puts an image into a registry; the words of the refusal when it does not take it. */
export async function pushImage(
  machine: Machine,
  { image: place, authFile }: ImageRequest,
  held: HeldImage,
): Promise<string | undefined> {
  const refusal = await refusalAt(machine, { place, verb: 'push', authFile });
  if (refusal === undefined) publish(machine.images, place, held);
  return refusal;
}

/** Ends a program as Go's programs on images end. */
export function failImage(call: Call, refusal: string, exitCode = 1): number {
  call.err(`time="2026-01-01T00:00:00Z" level=fatal msg="${refusal}"\n`);
  return exitCode;
}

interface Asked {
  readonly place: string;
  readonly verb: 'pull' | 'push';
  readonly authFile: string | undefined;
}

async function refusalAt(
  machine: Machine,
  { place, verb, authFile }: Asked,
): Promise<string | undefined> {
  const { network, isServing } = machine.images;
  if (network === undefined) return undefined;
  const registry = registryOf(place);
  if (registry.startsWith('127.0.0.1:')) {
    return isServing ? undefined : `dial tcp ${registry}: connect: connection refused`;
  }
  const secret = authFile === undefined ? '' : await textOf(machine, authFile);
  const credentials = secret === '' ? undefined : credentialsIn(secret, registry);
  return network.reach({ by: machine.name, verb, image: place, credentials });
}

const textOf = async ({ files }: Machine, path: string): Promise<string> =>
  readFile(await files.real(path), 'utf8').catch(() => '');
