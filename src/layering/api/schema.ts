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
