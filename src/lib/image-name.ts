/** The parts of an image name. */
export interface ImageName {
  /** The whole name; nodes compare it byte for byte. */
  readonly text: string;
  /** HOST[:PORT], if the name has one. */
  readonly host?: string;
  /** The part after the host. */
  readonly path: string;
  readonly tag?: string;
  /** `sha256:…` */
  readonly digest?: string;
}

const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const HOST = String.raw`(?:${DOMAIN_PART}(?:\.${DOMAIN_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`;
const PATH_PART = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const NAME = new RegExp(
  String.raw`^(?:(?<host>${HOST})/)?(?<path>${PATH_PART}(?:/${PATH_PART})*)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>[a-z][\w+.-]*:[0-9a-fA-F]+))?$`,
);

/**
 * Parses `[HOST/]PATH[:TAG][@DIGEST]` (grammar: distribution/reference); undefined for any other
 * text.
 */
export function readImageName(text: string): ImageName | undefined {
  const groups = NAME.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { host, path = '', tag, digest } = groups;
  return {
    text,
    path,
    ...(host === undefined ? {} : { host }),
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** Maximum length of a path in Go's distribution/reference. */
const MAX_PATH = 255;

/**
 * Whether the Machine Config Operator's library for references (distribution/reference, ParseNamed)
 * accepts a push spec: its rules are narrower than the CRD's, above all about upper case.
 */
export function isNamedReference(text: string): boolean {
  const name = readImageName(text);
  if (name?.host === undefined || name.host.startsWith('[') || name.digest !== undefined)
    return false;
  return name.path.length <= MAX_PATH && !isShortName(name);
}

/** Names in Docker's own registry have a longer form, and only the longer form is accepted. */
const isShortName = ({ host, path }: ImageName): boolean =>
  host === 'index.docker.io' || (host === 'docker.io' && !path.includes('/'));

/** A name without its tag and its digest. */
export const repositoryOf = (image: string): string =>
  image.replace(/@.*$/s, '').replace(/:[^:/]*$/, '');

/** The same repository with another tag instead of tag and digest. */
export const withTag = (image: string, tag: string): string => `${repositoryOf(image)}:${tag}`;

/** The same repository with a digest instead of tag and digest. */
export const withDigest = (image: string, digest: string): string =>
  `${repositoryOf(image)}@${digest}`;

/** The digest in a name, `sha256:…`; undefined without one. */
export const digestOf = (image: string): string | undefined =>
  /@(sha256:[0-9a-f]{64})$/.exec(image)?.[1];

/**
 * Whether two pull specs name the same image: by digest if both have one, else by the whole name,
 * with `latest` for a missing tag. A tag may move to another image, so a tag and a digest never
 * count as the same.
 */
export function isSameImage(one: string, other: string): boolean {
  const [a, b] = [readImageName(one), readImageName(other)];
  if (a === undefined || b === undefined) return one !== '' && one === other;
  if (a.digest !== undefined || b.digest !== undefined) return a.digest === b.digest;
  const isSamePlace = a.host?.toLowerCase() === b.host?.toLowerCase() && a.path === b.path;
  return isSamePlace && (a.tag ?? 'latest') === (b.tag ?? 'latest');
}
