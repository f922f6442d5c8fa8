import { osFailure } from './failures.ts';

/** The name of an image in a registry, as a person gives it. */
export interface ImageName {
  /** The whole name; the node records it byte for byte. */
  readonly text: string;
  /** Without tag and digest. */
  readonly repository: string;
  /** `sha256:…` where the name has one. */
  readonly digest?: string;
}

const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?`;
const component = String.raw`[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*`;
const named = new RegExp(
  String.raw`^(${host}(?:/${component})+)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);

/**
 * Reads `HOST/PATH:TAG` or `HOST/PATH@sha256:DIGEST` (grammar: distribution/reference). A name
 * without a host means another image on each host; one with neither tag nor digest is `latest` to
 * some programs and an error to others; with both, skopeo refuses it.
 * @throws AgentError `os.bad-image-name`
 */
export function parseImageName(text: string): ImageName {
  const match = named.exec(text);
  if (match === null) throw bad(text, 'is not the name of an image in a registry');
  const [, repository = '', tag, digest] = match;
  const [first = ''] = repository.split('/');
  if (!/[.:]/.test(first) && first !== 'localhost') throw bad(text, 'names no registry');
  if (tag === undefined && digest === undefined) throw bad(text, 'has neither tag nor digest');
  if (tag !== undefined && digest !== undefined) throw bad(text, 'has both a tag and a digest');
  return { text, repository, ...(digest === undefined ? {} : { digest }) };
}

const bad = (text: string, why: string): Error =>
  osFailure('os.bad-image-name', `${JSON.stringify(text)} ${why}`, { context: { image: text } });
