import type { Config } from '../../config/schema.ts';
import type { SecretUrl } from '../../lib/secret-url.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { imageFailure } from './failures.ts';
import type { RelayOutcome } from '../../ports/image-relay.ts';
import type { StepScope } from '../step.ts';
import type { ChosenImage } from './facts.ts';
import { findInStream, needsVerifying } from './stream.ts';
import { verifyFile } from './image-file.ts';
import type { WriterSource } from './writer.ts';
import type { WriterUse } from '../../lib/writer-args.ts';
import { namesImage, usesIn, valueOf } from '../disk/writer-args.ts';
import { choiceOr } from '../conditions.ts';

/**
 * Where the configuration wants the operating system to come from, before anything is looked at.
 */
export type ImageRequest =
  | { readonly kind: 'writer-args'; readonly because: string }
  | { readonly kind: 'file'; readonly path: string; readonly because: string }
  | { readonly kind: 'url'; readonly url: SecretUrl; readonly because: string }
  | { readonly kind: 'stream'; readonly location: SecretUrl; readonly because: string }
  /** `isAsked`: by name, so that a medium without an image is an error. */
  | { readonly kind: 'live'; readonly isAsked: boolean; readonly because: string };

/**
 * Chooses the image source of a configuration: what is among the writer's arguments wins, then the
 * source that is named, then with `auto` the first of file, URL and stream that is set, and else
 * what the live medium has.
 * @throws AgentError `image.not-configured`, `image.digest-unusable`, `image.unverified`
 */
export function chooseImageSource(
  config: Config,
  uses: readonly WriterUse[] = usesIn(config.image.writerArgs),
): ImageRequest {
  const { image } = config;
  const request = requestOf(image, uses);
  const unverified = whyUnverified(config, request, uses);
  if (unverified !== undefined && needsVerifying(config)) {
    throw imageFailure('image.unverified', `nothing verifies the image: ${unverified}`, {
      context: { source: request.kind },
    });
  }
  if (image.sha256 !== '' && (request.kind === 'live' || request.kind === 'writer-args')) {
    const what = `image.sha256 is set, and the image comes from ${placeOf(request)}`;
    throw imageFailure('image.digest-unusable', what, { context: { source: request.kind } });
  }
  return request;
}

/**
 * Why nothing shows that an image is the one that was meant; undefined where something does. A
 * signature does not: `--insecure` does without, so that whoever changes the image on its way
 * leaves it out.
 */
export function whyUnverified(
  { image }: Config,
  request: ImageRequest = requestOf(image),
  uses: readonly WriterUse[] = usesIn(image.writerArgs),
): string | undefined {
  if (image.sha256 !== '') return undefined;
  const place =
    request.kind === 'url'
      ? request.url.reveal()
      : request.kind === 'stream'
        ? request.location.reveal()
        : (valueOf(uses, 'image-url') ?? '');
  if (!/^http:/i.test(place)) return undefined;
  return `${shownUrl(place)} is plain http, and image.sha256 is not set`;
}

function requestOf(
  image: Config['image'],
  uses: readonly WriterUse[] = usesIn(image.writerArgs),
): ImageRequest {
  const option = namesImage(uses);
  if (option !== undefined) {
    return { kind: 'writer-args', because: `${option} is among the coreos-installer arguments` };
  }
  const { source, file, url, stream } = image;
  const because =
    source === 'auto' ? `image.${firstSet(image)} is set` : `image.source is ${source}`;
  switch (source === 'auto' ? firstSet(image) : source) {
    case 'file':
      return { kind: 'file', path: needed('file', file), because };
    case 'url':
      return { kind: 'url', url: needed('url', url), because };
    case 'stream':
      return { kind: 'stream', location: needed('stream', stream), because };
    case 'live': {
      const isAsked = source === 'live';
      return { kind: 'live', isAsked, because: isAsked ? because : 'no other image is configured' };
    }
  }
}

function firstSet({ file, url, stream }: Config['image']): 'file' | 'url' | 'stream' | 'live' {
  if (file !== '') return 'file';
  if (!url.isEmpty) return 'url';
  return stream.isEmpty ? 'live' : 'stream';
}

function needed<T extends string | SecretUrl>(key: 'file' | 'url' | 'stream', value: T): T {
  if (String(value) !== '') return value;
  const what = `image.source is ${key}, but image.${key} is not set`;
  throw imageFailure('image.not-configured', what, { context: { key: `image.${key}` } });
}

function placeOf(request: ImageRequest): string {
  switch (request.kind) {
    case 'writer-args':
      return 'the coreos-installer arguments';
    case 'file':
      return request.path;
    case 'url':
      return String(request.url);
    case 'stream':
      return `the stream ${String(request.location)}`;
    case 'live':
      return 'the live medium';
  }
}

/** The choice as a plan shows it; a configuration that cannot be met is reported, too. */
export const explainImage = (config: Config): string =>
  choiceOr(() => {
    const request = chooseImageSource(config);
    const { sha256, nodeImage } = config.image;
    return [
      `from ${placeOf(request)}: ${request.because}`,
      ...(sha256 === '' && request.kind !== 'stream' ? [] : ['its sha256 is enforced']),
      ...[whyUnverified(config, request) ?? []].flat().map((why) => `nothing verifies it: ${why}`),
      ...(nodeImage === '' ? [] : [`${nodeImage} is checked against the release`]),
    ].join('; ');
  });

/** A source that the writer can read now. */
export interface OpenSource {
  readonly source: WriterSource;
  /** How the handing on went, where the image comes through our relay. */
  readonly relayed: () => RelayOutcome | undefined;
  /** Of the image, as far as it is known by now. */
  readonly sha256: () => string | undefined;
}

/** What is to be opened, and the logical sector size of the disk it is for. */
interface ImageToOpen<Image extends ChosenImage = ChosenImage> {
  readonly image: Image;
  readonly sectorBytes: number;
}

/**
 * Opens the chosen image for the writer. A file with a digest is verified; an image at a URL comes
 * through Bootwright's relay, which enforces the digest, resumes after a cut and knows the proxies.
 */
export async function openSource(
  scope: StepScope<'host' | 'imageRelay' | 'web'>,
  { image, sectorBytes }: ImageToOpen,
): Promise<OpenSource> {
  const { host, imageRelay, signal, onExit } = scope;
  if (image.kind === 'url') {
    const { sha256 } = image;
    const url = await wholeUrl(scope, { image, sectorBytes });
    const guard = sha256 === undefined ? { tlsOnly: needsVerifying(scope.config) } : { sha256 };
    const relay = await imageRelay.serve({ url, ...guard }, { signal });
    onExit(relay.close, 'always');
    return {
      source: { kind: 'url', url: relay.url },
      relayed: relay.outcome,
      sha256: () => relay.outcome().sha256,
    };
  }
  if (image.kind !== 'file') return direct({ kind: 'own' }, undefined);
  const { path, sha256 } = image;
  if (sha256 !== undefined) await verifyFile(host, { path, sha256 }, signal);
  return direct({ kind: 'file', path }, sha256);
}

/** The address with its credentials, which are not kept: it is looked up where it came from. */
async function wholeUrl(
  scope: StepScope<'host' | 'web'>,
  { image, sectorBytes }: ImageToOpen<ChosenImage & { readonly kind: 'url' }>,
): Promise<string> {
  const { url, stream } = scope.config.image;
  if (image.source === 'config') return url.reveal();
  const found = await findInStream(scope, { location: stream, sectorBytes });
  if (shownUrl(found.url) === image.url) return found.url;
  const what = `the stream now names ${shownUrl(found.url)} and not ${image.url}`;
  throw imageFailure('image.stream-changed', what, {
    context: { chosen: image.url, now: shownUrl(found.url) },
  });
}

const direct = (source: WriterSource, sha256: string | undefined): OpenSource => ({
  source,
  relayed: () => undefined,
  sha256: () => sha256,
});

/** The source as a plan shows it, before the image is looked for. */
export function previewSource(config: Config): WriterSource {
  const request = chooseImageSource(config);
  switch (request.kind) {
    case 'file':
      return { kind: 'file', path: request.path };
    case 'url':
    case 'stream':
      return { kind: 'url', url: 'http://127.0.0.1:<port>/<image>' };
    case 'live':
    case 'writer-args':
      return { kind: 'own' };
  }
}
