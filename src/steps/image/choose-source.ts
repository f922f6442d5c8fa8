import type { Config } from '../../config/schema.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { imageFailure } from './failures.ts';

/**
 * Where the configuration wants the operating system to come from, before anything is looked at. Its
 * addresses are whole and may hold credentials; they are shown by `shownUrl` only.
 */
export type ImageWish =
  | { readonly kind: 'writer-args'; readonly because: string }
  | { readonly kind: 'file'; readonly path: string; readonly because: string }
  | { readonly kind: 'url'; readonly url: string; readonly because: string }
  | { readonly kind: 'stream'; readonly location: string; readonly because: string }
  /** `isAsked`: by name, so that a medium without an image is an error. */
  | { readonly kind: 'live'; readonly isAsked: boolean; readonly because: string };

/** Options of `coreos-installer install` that name an image; they shut out each other. */
const imageOptions = /^(--(image-url|image-file|stream|offline)(=|$)|-[ufs])/;

/** The argument for coreos-installer that names an image, if there is one. */
const namesImage = (writerArgs: readonly string[]): string | undefined =>
  writerArgs.find((word) => imageOptions.test(word));

/**
 * Chooses the image source of a configuration: what stands in the writer's arguments wins, then the
 * source that is named, then with `auto` the first of file, URL and stream that is set, and else
 * what the live medium has.
 * @throws AgentError `image.not-configured`, `image.digest-unusable`
 */
export function chooseImageSource({ image }: Config): ImageWish {
  const wish = wishOf(image);
  if (image.sha256 !== '' && (wish.kind === 'live' || wish.kind === 'writer-args')) {
    throw imageFailure(
      'image.digest-unusable',
      `image.sha256 is set, and the image comes from ${placeOf(wish)}`,
      { context: { source: wish.kind } },
    );
  }
  return wish;
}

function wishOf(image: Config['image']): ImageWish {
  const option = namesImage(image.writerArgs);
  if (option !== undefined) {
    const [name] = option.split('=');
    return {
      kind: 'writer-args',
      because: `${name ?? option} stands among the writer's arguments`,
    };
  }
  const { source, file, url, stream } = image;
  const because = source === 'auto' ? `image.${firstSet(image)} is set` : 'image.source says so';
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
  if (url !== '') return 'url';
  return stream === '' ? 'live' : 'stream';
}

function needed(key: 'file' | 'url' | 'stream', value: string): string {
  if (value !== '') return value;
  throw imageFailure(
    'image.not-configured',
    `image.source is ${key}, and image.${key} is not set`,
    {
      context: { key: `image.${key}` },
    },
  );
}

function placeOf(wish: ImageWish): string {
  switch (wish.kind) {
    case 'writer-args':
      return "the writer's own arguments";
    case 'file':
      return wish.path;
    case 'url':
      return shownUrl(wish.url);
    case 'stream':
      return `the stream ${shownUrl(wish.location)}`;
    case 'live':
      return 'the live medium';
  }
}

/** The choice as a plan tells it; a configuration that cannot be met is told, too. */
export function explainImage(config: Config): string {
  try {
    const wish = chooseImageSource(config);
    const { sha256, nodeImage } = config.image;
    return [
      `from ${placeOf(wish)}: ${wish.because}`,
      ...(sha256 === '' && wish.kind !== 'stream' ? [] : ['its sha256 is enforced']),
      ...(nodeImage === '' ? [] : [`${nodeImage} is held against the release`]),
    ].join('; ');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
