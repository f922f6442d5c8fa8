import type { Rule } from './schema/schema.ts';

const HOST = String.raw`(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]{2,5})?`;
const PUSH = new RegExp(String.raw`^${HOST}(?:/[\w-]{1,61})*/[\w.-]+:[\w.-]+$`);
const SERVICE_PUSH = /^[^.]+\.[^.]+\.svc:[0-9]+\/[^/]+\/[^/]+:[^/]+$/u;
const PULL_NAME = new RegExp(String.raw`^${HOST}/(?:[\w-]{0,61}/)?[\w.-]*$`);
const DIGEST = /^sha256:[a-f0-9]{64}$/;

const NAME_FORM =
  'the OCI Image name should follow the host[:port][/namespace]/name format, resembling a valid URL without the scheme';

/** The grammar of `spec.renderedImagePushSpec`: a host with a dot, any depth, a tag and no digest. */
export const pushSpecRule: Rule<string> = {
  message: `${NAME_FORM}. Or it must be a valid .svc followed by a port, repository, image name, and tag.`,
  holds: (text) => PUSH.test(text) || SERVICE_PUSH.test(text),
};

/** The grammar of `status.currentImagePullSpec`: at most one namespace, a digest and no tag. */
export const pullSpecRules: readonly Rule<string>[] = [
  {
    message:
      "the OCI Image reference must end with a valid '@sha256:<digest>' suffix, where '<digest>' is 64 characters long",
    holds: (text) => {
      const parts = text.split('@');
      return parts.length === 2 && DIGEST.test(parts[1] ?? '');
    },
  },
  { message: NAME_FORM, holds: (text) => PULL_NAME.test(text.split('@')[0] ?? '') },
];

/** Whether the cluster takes it as a place to push to. */
export const isPushSpec = (text: string): boolean =>
  text.length >= 1 && text.length <= 447 && pushSpecRule.holds(text, undefined);

/** Whether the cluster takes it as the image of a pool. */
export const isPullSpec = (text: string): boolean =>
  text.length >= 1 &&
  text.length <= 447 &&
  pullSpecRules.every(({ holds }) => holds(text, undefined));

/** Whether images of a pool can lie in a repository; a digest of zeros stands for theirs. */
export const isPullRepository = (repository: string): boolean =>
  isPullSpec(`${repository}@sha256:${'0'.repeat(64)}`);

/** A push spec without its tag: what stands before a digest or another tag. */
export const repositoryOf = (pushSpec: string): string => pushSpec.replace(/:[^:/]*$/, '');

/** The place to push to under another tag. */
export const withTag = (pushSpec: string, tag: string): string =>
  `${repositoryOf(pushSpec)}:${tag}`;

/** The pull spec of an image that was pushed. */
export const withDigest = (pushSpec: string, digest: string): string =>
  `${repositoryOf(pushSpec)}@${digest}`;

const PATH_PART = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const DOMAIN_PART = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const NAMED = new RegExp(
  String.raw`^(?<name>${DOMAIN_PART}(?:\.${DOMAIN_PART})*(?::[0-9]+)?(?:/${PATH_PART})+)(?::(?<tag>[\w][\w.-]{0,127}))?$`,
);
const NAME_LIMIT = 255;

/**
 * Whether the library that the operator reads references with (distribution/reference, ParseNamed) takes a
 * push spec: its rules for names are narrower than those of the CRD, upper case above all.
 */
export function isNamedReference(text: string): boolean {
  const name = NAMED.exec(text)?.groups?.['name'];
  if (name === undefined || isShortName(name)) return false;
  return name.slice(name.indexOf('/') + 1).length <= NAME_LIMIT;
}

/** Names of Docker's own registry have a longer form, and only that one is taken. */
const isShortName = (name: string): boolean =>
  name.startsWith('index.docker.io/') || /^docker\.io\/[^/]+$/.test(name);

const HOST_NAME = String.raw`(?:${DOMAIN_PART}(?:\.${DOMAIN_PART})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`;
const ANY_IMAGE = new RegExp(
  String.raw`^(?:${HOST_NAME}/)?${PATH_PART}(?:/${PATH_PART})*(?::\w[\w.-]{0,127})?(?:@[a-z][\w+.-]*:[0-9a-fA-F]+)?$`,
);

/** Whether a text can stand in a Containerfile as the name of an image: one word, with or without host, tag and digest. */
export const isImageName = (text: string): boolean => ANY_IMAGE.test(text);
