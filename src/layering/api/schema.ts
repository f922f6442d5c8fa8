/** Any value of a document. */
export type Value =
  string | number | boolean | null | readonly Value[] | { readonly [member: string]: Value };

/** An object of a document. */
export type Fields = Readonly<Record<string, Value>>;

/** Whether a value is an object. */
export const isFields = (value: Value | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of an object; none for any other value. */
export const fieldsOf = (value: Value | undefined): Fields => (isFields(value) ? value : {});

/** Whether a value is a list. */
export const isList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

/**
 * A rule of a CRD's `x-kubernetes-validations`, in the words that the server answers with. A rule with
 * `needsOld` is one of a transition: it is checked only where there was a value before.
 */
export interface Rule<T> {
  readonly message: string;
  readonly needsOld?: true;
  readonly holds: (value: T, old: T | undefined) => boolean;
}

/** A string of the schema. Lengths are in code points, although the server speaks of bytes. */
export interface TextSchema {
  readonly type: 'string';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  /** The pattern of the definition, which the answer quotes. */
  readonly pattern?: string;
  readonly isDateTime?: true;
  /** Used where the field is absent or null. */
  readonly default?: string;
  readonly rules?: readonly Rule<string>[];
}

/** A whole number. */
export interface IntegerSchema {
  readonly type: 'integer';
  readonly minimum?: number;
  readonly rules?: readonly Rule<number>[];
}

/** A list whose entries are identified by some of their fields. */
export interface ListSchema {
  readonly type: 'array';
  readonly maxItems?: number;
  readonly mapKeys: readonly string[];
  readonly items: ObjectSchema;
  readonly rules?: readonly Rule<readonly Value[]>[];
}

/** An object; the server drops fields that are not named. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly rules?: readonly Rule<Fields>[];
}

/** A node of the schema of a CRD: what of OpenAPI these definitions use. `any` is checked elsewhere. */
export type Schema =
  TextSchema | IntegerSchema | ListSchema | ObjectSchema | { readonly type: 'any' };

const LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const DNS_1123_LABEL = new RegExp(`^${LABEL}$`);
const DNS_1035_LABEL = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const LABEL_LIMIT = 63;
const SUBDOMAIN_LIMIT = 253;

/** A name of an object (RFC 1123 subdomain). */
export const isSubdomain = (text: string): boolean =>
  text.length <= SUBDOMAIN_LIMIT && SUBDOMAIN.test(text);

/** A name of a namespace (RFC 1123 label). */
const isDns1123Label = (text: string): boolean =>
  text.length <= LABEL_LIMIT && DNS_1123_LABEL.test(text);

/** A name of a resource (RFC 1035 label). */
const isDns1035Label = (text: string): boolean =>
  text.length <= LABEL_LIMIT && DNS_1035_LABEL.test(text);

/** A value of a label of an object. */
export const isLabelValue = (text: string): boolean =>
  text === '' || (text.length <= LABEL_LIMIT && /^[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/.test(text));

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)t(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/i;

/** A point in time as RFC 3339 writes it, without leap seconds. */
export function isDateTime(text: string): boolean {
  const groups = DATE_TIME.exec(text)?.groups;
  if (groups === undefined) return false;
  const part = (name: string): number => Number(groups[name]);
  const lastDay = new Date(Date.UTC(part('year'), part('month'), 0)).getUTCDate();
  return (
    part('month') >= 1 &&
    part('month') <= 12 &&
    part('day') >= 1 &&
    part('day') <= lastDay &&
    part('hour') < 24 &&
    part('minute') < 60 &&
    part('second') < 60
  );
}

const SPEC_HOST = String.raw`(?:[a-zA-Z0-9-]+\.)+[a-zA-Z0-9-]+(?::[0-9]{2,5})?`;
const PUSH = new RegExp(String.raw`^${SPEC_HOST}(?:/[\w-]{1,61})*/[\w.-]+:[\w.-]+$`);
const SERVICE_PUSH = /^[^.]+\.[^.]+\.svc:[0-9]+\/[^/]+\/[^/][^/:]*:[^/]+$/u;
const PULL_NAME = new RegExp(String.raw`^${SPEC_HOST}/(?:[\w-]{0,61}/)?[\w.-]*$`);
const DIGEST = /^sha256:[a-f0-9]{64}$/;

const NAME_FORM =
  'the OCI Image name should follow the host[:port][/namespace]/name format, resembling a valid URL without the scheme';

/** The grammar of `spec.renderedImagePushSpec`: a host with a dot, any depth, a tag and no digest. */
const pushSpecRule: Rule<string> = {
  message: `${NAME_FORM}. Or it must be a valid .svc followed by a port, repository, image name, and tag.`,
  holds: (text) => PUSH.test(text) || SERVICE_PUSH.test(text),
};

/** The grammar of `status.currentImagePullSpec`: at most one namespace, a digest and no tag. */
const pullSpecRules: readonly Rule<string>[] = [
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

const subdomainRule: Rule<string> = {
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character.",
  holds: isSubdomain,
};

/** The name of an object. */
export const nameText = (minLength = 0): TextSchema => ({
  type: 'string',
  minLength,
  maxLength: 253,
  rules: [subdomainRule],
});

/** An object that holds a name alone. */
export const nameReference = (minLength = 0): ObjectSchema => ({
  type: 'object',
  required: ['name'],
  properties: { name: nameText(minLength) },
});

/** Where an image is pushed to. */
export const pushSpecText: TextSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 447,
  rules: [pushSpecRule],
};

/** Where an image is pulled from. */
export const pullSpecText: TextSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 447,
  rules: pullSpecRules,
};

/** A reference to any object of the cluster. */
export const objectReference: ObjectSchema = {
  type: 'object',
  required: ['group', 'name', 'resource'],
  properties: {
    group: nameText(),
    name: nameText(1),
    namespace: {
      type: 'string',
      minLength: 1,
      maxLength: 63,
      rules: [
        {
          message: 'the value must consist of only lowercase alphanumeric characters and hyphens',
          holds: isDns1123Label,
        },
      ],
    },
    resource: {
      type: 'string',
      minLength: 1,
      maxLength: 63,
      rules: [
        {
          message:
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          holds: isDns1035Label,
        },
      ],
    },
  },
};

/** Conditions as every kind of OpenShift has them. */
export const conditionList: ListSchema = {
  type: 'array',
  mapKeys: ['type'],
  items: {
    type: 'object',
    required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
    properties: {
      lastTransitionTime: { type: 'string', isDateTime: true },
      message: { type: 'string', maxLength: 32768 },
      observedGeneration: { type: 'integer', minimum: 0 },
      reason: {
        type: 'string',
        minLength: 1,
        maxLength: 1024,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      },
      status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
      type: {
        type: 'string',
        maxLength: 316,
        pattern: String.raw`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
      },
    },
  },
};

/** Whether the cluster takes it as the image of a pool. */
export const isPullSpec = (text: string): boolean =>
  text.length >= 1 &&
  text.length <= 447 &&
  pullSpecRules.every(({ holds }) => holds(text, undefined));

/** Whether images of a pool can be in a repository; checked with a digest of zeros. */
export const isPullRepository = (repository: string): boolean =>
  isPullSpec(`${repository}@sha256:${'0'.repeat(64)}`);
