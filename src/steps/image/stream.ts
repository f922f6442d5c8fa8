import * as z from 'zod';
import { jsonIn } from '../../lib/json.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import type { SecretUrl } from '../../lib/secret-url.ts';
import { readArchitecture, readTextOr } from '../host-commands.ts';
import type { StepScope } from '../step.ts';
import { imageFailure, imageFileMissing } from './failures.ts';
import { needsVerifying } from './source.ts';

const Artifact = z.object({
  location: z.url({ protocol: /^https?$/ }),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const Metal = z.object({
  release: z.string().default(''),
  formats: z.record(z.string(), z.object({ disk: Artifact.optional() })),
});

/**
 * The members of stream metadata that Bootwright reads. Source: stream-metadata-go,
 * `stream/stream.go`; `openshift-install coreos print-stream-json` prints the metadata of a
 * release.
 */
const StreamMetadata = z.object({
  architectures: z.record(
    z.string(),
    z.object({ artifacts: z.object({ metal: Metal.optional() }).default({}) }),
  ),
});

/** Compressions in the order of their speed (coreos-installer 0.26: zstd 350 MiB/s, xz 150). */
const compressions = ['.zst', '.gz', '.xz', ''];

/** The metadata of a release has less than 1 MiB; a larger file is not one. */
const largestBytes = 16 * 1024 ** 2;

/**
 * Finds the metal image of a stream for this host.
 * @param location a file on the host or an http(s) URL
 * @param sectorBytes logical sector size of the install disk
 * @returns its address, the digest of the stored file, its version (`416.94.202410211619-0`),
 * format (`4k.raw.xz`) and architecture, as `uname -m` prints it
 * @throws AgentError `image.stream-unreadable`, `image.not-in-stream`, `web.*`
 */
export async function findInStream(
  scope: StepScope<'host' | 'web'>,
  location: SecretUrl,
  sectorBytes: number,
) {
  const data = parseStream(await readStream(scope, location), location);
  const architecture = await readArchitecture(scope);
  const known = data.architectures[architecture];
  const wanted = `${architecture} with sectors of ${sectorBytes} bytes`;
  if (known === undefined)
    throw missing(wanted, Object.keys(data.architectures), 'it has no architectures');
  const { metal } = known.artifacts;
  const prefix = sectorBytes === 4096 ? '4k.raw' : 'raw';
  for (const compression of compressions) {
    const format = `${prefix}${compression}`;
    const disk = metal?.formats[format]?.disk;
    if (metal === undefined || disk === undefined) continue;
    const { location: url, sha256 } = disk;
    return { url, sha256, release: metal.release, format, architecture };
  }
  throw missing(wanted, Object.keys(metal?.formats ?? {}), 'it has no metal image');
}

/**
 * Reads stream metadata.
 * @throws AgentError `image.stream-unreadable`
 */
export function parseStream(text: string, location: SecretUrl): z.infer<typeof StreamMetadata> {
  const { data, error } = StreamMetadata.safeParse(jsonIn(text));
  if (error === undefined) return data;
  const at = error.issues[0]?.path.join('.') ?? '';
  throw unreadableStream(location, `is not stream metadata: see "${at}"`);
}

async function readStream(
  { host, web, signal, config }: StepScope<'host' | 'web'>,
  location: SecretUrl,
): Promise<string> {
  const place = location.reveal();
  if (!/^https?:\/\//.test(place)) return readTextOr({ host, signal }, place, imageFileMissing);
  const tlsOnly = needsVerifying(config);
  const { body } = await web.open(place, { peer: 'the server of image.stream', signal, tlsOnly });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes === undefined) throw unreadableStream(location, 'sends more than 16 MiB');
  return bytes.toString('utf8');
}

const unreadableStream = (location: SecretUrl, problem: string): Error =>
  imageFailure('image.stream-unreadable', `${String(location)} ${problem}`, {
    context: { origin: String(location) },
  });

function missing(wanted: string, found: readonly string[], none: string): Error {
  const instead = found.length === 0 ? none : `it has ${found.join(', ')}`;
  return imageFailure('image.not-in-stream', `the stream has no image for ${wanted}: ${instead}`, {
    context: { wanted },
  });
}
