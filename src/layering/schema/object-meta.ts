import type { ObjectSchema } from './schema.ts';

/** What an object is owned by, as `metadata.ownerReferences` lists it. */
const owner: ObjectSchema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'any' },
    blockOwnerDeletion: { type: 'any' },
    controller: { type: 'any' },
    kind: { type: 'any' },
    name: { type: 'any' },
    uid: { type: 'any' },
  },
};

/** Who has written which members, as `oc get --show-managed-fields` prints it. */
const managedFields: ObjectSchema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'any' },
    fieldsType: { type: 'any' },
    fieldsV1: { type: 'any' },
    manager: { type: 'any' },
    operation: { type: 'any' },
    subresource: { type: 'any' },
    time: { type: 'any' },
  },
};

/** The members of `metadata`, which are the same for every kind (apimachinery, meta/v1). */
export const objectMeta: ObjectSchema = {
  type: 'object',
  properties: {
    annotations: { type: 'any' },
    creationTimestamp: { type: 'any' },
    deletionGracePeriodSeconds: { type: 'any' },
    deletionTimestamp: { type: 'any' },
    finalizers: { type: 'any' },
    generateName: { type: 'any' },
    generation: { type: 'any' },
    labels: { type: 'any' },
    managedFields: { type: 'array', mapKeys: [], items: managedFields },
    name: { type: 'any' },
    namespace: { type: 'any' },
    ownerReferences: { type: 'array', mapKeys: [], items: owner },
    resourceVersion: { type: 'any' },
    selfLink: { type: 'any' },
    uid: { type: 'any' },
  },
};
