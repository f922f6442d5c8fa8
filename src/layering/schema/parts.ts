import { pullSpecRules, pushSpecRule } from '../pull-spec.ts';
import { isDns1035Label, isDns1123Label, isSubdomain } from './formats.ts';
import type { ListSchema, ObjectSchema, Rule, TextSchema } from './schema.ts';

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
