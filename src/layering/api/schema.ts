import * as z from 'zod';

const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const LABEL_LIMIT = 63;
const SUBDOMAIN_LIMIT = 253;

/** A name of an object (RFC 1123 subdomain). */
export const isSubdomain = (text: string): boolean =>
  text.length <= SUBDOMAIN_LIMIT && SUBDOMAIN.test(text);

/** A value of a label of an object. */
export const isLabelValue = (text: string): boolean =>
  text === '' || (text.length <= LABEL_LIMIT && /^[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/.test(text));

/** A key of a label of an object, with or without a prefix. */
export function isLabelKey(key: string): boolean {
  const [name = '', prefix = 'a', ...more] = key.split('/').toReversed();
  return name !== '' && isLabelValue(name) && isSubdomain(prefix) && more.length === 0;
}

/** The grammar of a name of an object, for messages. */
export const subdomainRule =
  'has lower-case letters, digits, - and ., and begins and ends with a letter or a digit';

/** A name of a namespace (RFC 1123 label). */
export const isNamespace = (text: string): boolean =>
  text.length <= LABEL_LIMIT && !text.includes('.') && isSubdomain(text);

/** A text that the YAML reader does not read as another type, as it does `on` and `0644`. */
export const Quoted = z.string('must be a text: write it in quotes');

const valueRule =
  'has at most 63 letters, digits, -, _ and ., and begins and ends with a letter or a digit';
const keyError = ({ code }: { readonly code?: string | undefined }): string | undefined =>
  code === 'invalid_key' ? 'is no key: NAME or DOMAIN/NAME is expected, without blanks' : undefined;

/** Labels that the API server accepts of any object; it reads null as empty. */
export const Labels = z
  .record(z.string().refine(isLabelKey), Quoted.refine(isLabelValue, valueRule).nullable(), {
    error: keyError,
  })
  .nullish();

/** Annotations that it accepts. It ignores the case of their keys (`ValidateAnnotations`). */
export const Annotations = z
  .record(
    z.string().refine((key) => isLabelKey(key.toLowerCase())),
    Quoted.nullable(),
    { error: keyError },
  )
  .nullish();

const SPEC_HOST = String.raw`(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]{2,5})?`;
const PUSH = new RegExp(String.raw`^${SPEC_HOST}(?:/[\w-]{1,61})*/[\w.-]+:[\w.-]+$`);
const SERVICE_PUSH = /^[^.]+\.[^.]+\.svc:[0-9]+\/[^/]+\/[^/][^/:]*:[^/]+$/u;
/** The grammar of `status.currentImagePullSpec`: at most one namespace, no tag, a digest. */
const PULL = new RegExp(String.raw`^${SPEC_HOST}/(?:[\w-]{0,61}/)?[\w.-]*@sha256:[a-f0-9]{64}$`);

/**
 * The grammar of `spec.renderedImagePushSpec`: a host with a dot, any depth, a tag and no digest.
 */
export const isPushSpec = (text: string): boolean => PUSH.test(text) || SERVICE_PUSH.test(text);

/** Whether the cluster accepts a text as the pull spec of a pool's image. */
export const isPullSpec = (text: string): boolean => text.length <= 447 && PULL.test(text);

/** Whether a repository can hold images of a pool; checked with a digest of zeros. */
export const isPullRepository = (repository: string): boolean =>
  isPullSpec(`${repository}@sha256:${'0'.repeat(64)}`);
