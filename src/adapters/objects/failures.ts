import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of the object store. */
export const objectsFailures = {
  'objects.not-found': {
    kind: 'remote',
    isFinal: true,
    title: 'The object store does not have an object',
    hint: 'check the bucket and the cluster id, and that the file was uploaded',
  },
  'objects.denied': {
    kind: 'remote',
    isFinal: true,
    title: 'The object store does not let an object be read',
    hint: 'check the keys, or allow anonymous reading of the bucket',
  },
  'objects.unreachable': {
    kind: 'remote',
    title: 'The object store cannot be reached, or does not answer well',
    hint: 'check the endpoint, routes and proxies of the host, and the store itself',
  },
} as const satisfies FailureTable;

/** Builds an error of the object store. */
export const objectsFailure = failuresOf(objectsFailures);
