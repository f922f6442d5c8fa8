import type { Config } from '../../config/schema.ts';
import { SecretUrl } from '../../lib/secret-url.ts';
import type { WriterUse } from '../../settings/writer-args.ts';
import { choiceOr } from '../conditions.ts';
import { usesIn, valueOf } from '../disk/writer-args.ts';
import { imageFailure } from './failures.ts';

/** The source of the operating system by the configuration, before any question to the host. */
interface ImageSource {
  readonly kind: 'writer-args' | 'file' | 'url' | 'stream' | 'live';
  /** Path or address of the image or the stream; empty if no option names one. */
  readonly place: SecretUrl;
  readonly because: string;
  /** The reason why nothing verifies the image; undefined if something does. */
  readonly unverified: string | undefined;
}

/**
 * Resolves the image source of a configuration: an image in the coreos-installer arguments wins,
 * then the named source, then with `auto` the first of file, URL and stream that is set, and
 * otherwise the live medium.
 * @param uses with the options of configuration files, if the host is available
 * @throws AgentError `image.not-configured`, `image.digest-unusable`, `image.unverified`
 */
export function resolveImage(
  config: Config,
  uses: readonly WriterUse[] = usesIn(config.image.writerArgs),
): ImageSource {
  const { sha256 } = config.image;
  const source = sourceOf(config.image, uses);
  const { kind, place } = source;
  const context = { source: kind };
  // A signature verifies nothing: `--insecure` accepts an image without one, so an attacker omits
  // it.
  const isUnverified = sha256 === '' && /^http:/i.test(place.reveal());
  const unverified = `${String(place)} is plain http, and image.sha256 is not set`;
  if (isUnverified && needsVerifying(config)) {
    throw imageFailure('image.unverified', `nothing verifies the image: ${unverified}`, {
      context,
    });
  }
  if (sha256 !== '' && (kind === 'live' || kind === 'writer-args')) {
    const what = `image.sha256 is set, and the image comes from ${placeOf(source)}`;
    throw imageFailure('image.digest-unusable', what, { context });
  }
  return { ...source, unverified: isUnverified ? unverified : undefined };
}

/** The options for coreos-installer that name an image. */
const imageOptions = ['image-url', 'image-file', 'stream', 'offline'];

function sourceOf(
  image: Config['image'],
  uses: readonly WriterUse[],
): Omit<ImageSource, 'unverified'> {
  const named = uses.find(({ option }) => imageOptions.includes(option));
  if (named !== undefined) {
    const place = new SecretUrl(valueOf(uses, 'image-url') ?? '');
    const because = `--${named.option} is among the coreos-installer arguments`;
    return { kind: 'writer-args', place, because };
  }
  const { source, url, stream } = image;
  const places = { file: new SecretUrl(image.file), url, stream, live: new SecretUrl('') };
  if (source === 'auto') {
    const kind = (['file', 'url', 'stream'] as const).find((key) => !places[key].isEmpty);
    return kind === undefined
      ? { kind: 'live', place: places.live, because: 'no other image is configured' }
      : { kind, place: places[kind], because: `image.${kind} is set` };
  }
  const place = places[source];
  if (place.isEmpty && source !== 'live') {
    const what = `image.source is ${source}, but image.${source} is not set`;
    throw imageFailure('image.not-configured', what, { context: { key: `image.${source}` } });
  }
  return { kind: source, place, because: `image.source is ${source}` };
}

function placeOf({ kind, place }: Pick<ImageSource, 'kind' | 'place'>): string {
  if (kind === 'writer-args') return 'the coreos-installer arguments';
  if (kind === 'live') return 'the live medium';
  return kind === 'stream' ? `the stream ${String(place)}` : String(place);
}

/** The source as a plan shows it; an impossible configuration is reported too. */
export const explainImage = (config: Config): string =>
  choiceOr(() => {
    const source = resolveImage(config);
    const { sha256, nodeImage } = config.image;
    const sentences = [`from ${placeOf(source)}: ${source.because}`];
    if (sha256 !== '' || source.kind === 'stream') sentences.push('its sha256 is enforced');
    if (source.unverified !== undefined)
      sentences.push(`nothing verifies it: ${source.unverified}`);
    if (nodeImage !== '') sentences.push(`${nodeImage} is checked against the release`);
    return sentences.join('; ');
  });

/** Whether an image without a digest must be fetched by https only, redirects included. */
export const needsVerifying = ({ image, service }: Config): boolean =>
  service.url.isEmpty && !image.allowUnverified && image.sha256 === '';
