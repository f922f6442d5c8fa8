import { type ImageName, readImageName, repositoryOf } from '../lib/image-name.ts';
import { osFailure } from './failures.ts';

/** The name of an image that a node can be moved to. */
export interface NodeImageName extends ImageName {
  /** Without tag and digest. */
  readonly repository: string;
}

/**
 * Reads `HOST/PATH:TAG` or `HOST/PATH@sha256:DIGEST`. A name without a host means another image on each host; one with
 * neither tag nor digest is `latest` to some programs and an error to others; with both, skopeo refuses it.
 * @throws AgentError `os.bad-image-name`
 */
export function parseImageName(text: string): NodeImageName {
  const name = readImageName(text);
  if (name === undefined || !/^(?:sha256:[0-9a-f]{64})?$/.test(name.digest ?? '')) {
    throw bad(text, 'is not the name of an image in a registry');
  }
  const { host = '', tag, digest } = name;
  if (!/[.:]/.test(host) && host !== 'localhost') throw bad(text, 'names no registry');
  if (tag === undefined && digest === undefined) throw bad(text, 'has neither tag nor digest');
  if (tag !== undefined && digest !== undefined) throw bad(text, 'has both a tag and a digest');
  return { ...name, repository: repositoryOf(text) };
}

const bad = (text: string, why: string): Error =>
  osFailure('os.bad-image-name', `${JSON.stringify(text)} ${why}`, { context: { image: text } });
