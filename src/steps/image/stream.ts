import * as z from 'zod';
import type { Config } from '../../config/schema.ts';
import { imageFailure, imageFileMissing } from './failures.ts';
import { readUpTo } from '../../lib/read-up-to.ts';
import type { SecretUrl } from '../../lib/secret-url.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { StepScope } from '../step.ts';
import { readArchitecture, readTextOr } from '../host-commands.ts';

const Artifact = z.object({
  location: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const Formats = z.record(z.string(), z.object({ disk: Artifact.optional() }));

const Architecture = z.object({
  artifacts: z
    .object({
      metal: z.object({ release: z.string().default(''), formats: Formats }).optional(),
    })
    .default({}),
});

/**
 * Stream metadata, as much of it as is read here. Source: stream-metadata-go, `stream/stream.go`;
 * `openshift-install coreos print-stream-json` prints the one of a release.
 */
const StreamMetadata = z.object({
  stream: z.string().default(''),
  architectures: z.record(z.string(), Architecture),
});
type StreamMetadata = z.infer<typeof StreamMetadata>;

/** The image of a stream for one kind of host. */
export interface StreamImage {
  readonly url: string;
  /** Of the stored file, lower-case hexadecimal. */
  readonly sha256: string;
  /** Version of the image, `416.94.202410211619-0`. */
  readonly release: string;
  /** `raw.gz`, `4k.raw.xz`. */
  readonly format: string;
}

/**
 * Compressions from the one that unpacks fastest (coreos-installer 0.26: zstd 350 MiB/s, xz 150).
 */
const compressions = ['.zst', '.gz', '.xz', ''];

/**
 * Reads stream metadata.
 * @throws AgentError `image.stream-unreadable`
 */
export function parseStream(text: string, origin: string): StreamMetadata {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw imageFailure('image.stream-unreadable', `${origin} is not JSON`, {
      cause,
      context: { origin },
    });
  }
  const parsed = StreamMetadata.safeParse(json);
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path.join('.') ?? '';
  throw imageFailure('image.stream-unreadable', `${origin} is not stream metadata: see ${at}`, {
    cause: parsed.error,
    context: { origin, at },
  });
}

/**
 * The metal image of a stream for an architecture and a sector size.
 * @param architecture as `uname -m` prints it; streams use the same words
 * @param sectorBytes logical sector size of the install disk
 * @throws AgentError `image.not-in-stream`
 */
export function imageInStream(
  stream: StreamMetadata,
  { architecture, sectorBytes }: { readonly architecture: string; readonly sectorBytes: number },
): StreamImage {
  const known = stream.architectures[architecture];
  if (known === undefined) {
    throw missing(architecture, `it has ${Object.keys(stream.architectures).join(', ')}`);
  }
  const metal = known.artifacts.metal;
  const prefix = sectorBytes === 4096 ? '4k.raw' : 'raw';
  for (const compression of compressions) {
    const format = `${prefix}${compression}`;
    const disk = metal?.formats[format]?.disk;
    if (metal !== undefined && disk !== undefined) {
      return { url: disk.location, sha256: disk.sha256, release: metal.release, format };
    }
  }
  const formats = Object.keys(metal?.formats ?? {}).join(', ');
  throw missing(
    `${architecture} with sectors of ${sectorBytes} bytes`,
    formats === '' ? 'it has no metal image' : `it has ${formats}`,
  );
}

const missing = (what: string, instead: string): Error =>
  imageFailure('image.not-in-stream', `the stream has no image for ${what}: ${instead}`, {
    context: { wanted: what },
  });

/** The metadata of a release has less than 1 MiB; nothing that is larger than this is one. */
const largestBytes = 16 * 1024 ** 2;

/**
 * The image of a stream for this host, with the host's architecture as `uname -m` prints it.
 * @param location a file on the host or an http(s) URL
 */
export async function findInStream(
  scope: StepScope<'host' | 'web'>,
  { location, sectorBytes }: { readonly location: SecretUrl; readonly sectorBytes: number },
): Promise<StreamImage & { readonly architecture: string }> {
  const stream = parseStream(await readStream(scope, location), String(location));
  const architecture = await readArchitecture(scope);
  return { ...imageInStream(stream, { architecture, sectorBytes }), architecture };
}

/** Whether an image without a digest must come by https, all the way. */
export const needsVerifying = ({ image, service }: Config): boolean =>
  service.url.isEmpty && !image.allowUnverified && image.sha256 === '';

async function readStream(
  { host, web, signal, config }: StepScope<'host' | 'web'>,
  place: SecretUrl,
): Promise<string> {
  const location = place.reveal();
  if (!/^https?:\/\//.test(location))
    return readTextOr({ host, signal }, location, imageFileMissing);
  const { body, origin } = await web.open(location, { signal, tlsOnly: needsVerifying(config) });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw imageFailure('image.stream-unreadable', `${shownUrl(origin)} sends more than 16 MiB`, {
    context: { origin: shownUrl(origin) },
  });
}
