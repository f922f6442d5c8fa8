import type { Config } from '../../config/schema.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { RelayOutcome } from '../../ports/image-relay.ts';
import type { StepScope } from '../step.ts';
import { chooseImageSource } from './choose-source.ts';
import type { ChosenImage } from './facts.ts';
import { imageFailure } from './failures.ts';
import { findInStream } from './find-in-stream.ts';
import { verifyFile } from './image-file.ts';
import type { WriterSource } from './writer-argv.ts';

/** A source that the writer can read now. */
export interface OpenSource {
  readonly source: WriterSource;
  /** How the handing on went, where the image comes through our relay. */
  readonly relayed: () => RelayOutcome | undefined;
  /** Of the image, as far as it is known by now. */
  readonly sha256: () => string | undefined;
}

/** What is to be opened, and the logical sector size of the disk it is for. */
export interface ImageToOpen<Image extends ChosenImage = ChosenImage> {
  readonly image: Image;
  readonly sectorBytes: number;
}

/**
 * Opens the chosen image for the writer. A file with a digest is verified; an image at a URL comes
 * through a relay of ours, which enforces the digest, goes on after a cut and knows our proxies.
 */
export async function openSource(
  scope: StepScope<'host' | 'imageRelay' | 'web'>,
  { image, sectorBytes }: ImageToOpen,
): Promise<OpenSource> {
  const { host, imageRelay, signal, onExit } = scope;
  if (image.kind === 'url') {
    const { sha256 } = image;
    const url = await wholeUrl(scope, { image, sectorBytes });
    const relay = await imageRelay.serve(
      { url, ...(sha256 === undefined ? {} : { sha256 }) },
      { signal },
    );
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
  if (image.source === 'config') return url;
  const found = await findInStream(scope, { location: stream, sectorBytes });
  if (shownUrl(found.url) === image.url) return found.url;
  throw imageFailure(
    'image.stream-changed',
    `stream now names ${shownUrl(found.url)} and not ${image.url}`,
    { context: { chosen: image.url, now: shownUrl(found.url) } },
  );
}

const direct = (source: WriterSource, sha256: string | undefined): OpenSource => ({
  source,
  relayed: () => undefined,
  sha256: () => sha256,
});

/** The source as a plan shows it, before the image is looked for. */
export function previewSource(config: Config): WriterSource {
  const wish = chooseImageSource(config);
  switch (wish.kind) {
    case 'file':
      return { kind: 'file', path: wish.path };
    case 'url':
    case 'stream':
      return { kind: 'url', url: 'http://127.0.0.1:<port>/<image>' };
    case 'live':
    case 'writer-args':
      return { kind: 'own' };
  }
}
