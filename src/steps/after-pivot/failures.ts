import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of what follows the bootstrap host into its cluster. */
export const afterPivotFailures = {
  'after-pivot.bad-record': {
    kind: 'cluster',
    title: 'The record of the bootstrap host in the cluster cannot be read',
    hint: 'look at ConfigMap assisted-installer/bootwright-after-pivot; delete it when the host has joined',
  },
  'after-pivot.no-image': {
    kind: 'input',
    title: 'The image of this program is not known',
    hint: 'give --images.self IMAGE, or set bootstrap.followUp to never',
  },
  'after-pivot.not-left': {
    kind: 'cluster',
    title: 'What is to follow the bootstrap host is not in the cluster as it was sent',
    hint: 'look at the object that the message names, delete it, and run again',
  },
} as const satisfies FailureTable;

/** Builds an error of what follows the bootstrap host. */
export const afterPivotFailure = failuresOf(afterPivotFailures);
