import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of what follows the bootstrap host into its cluster. */
export const afterPivotFailures = {
  'after-pivot.bad-record': {
    kind: 'cluster',
    title: 'The record of the bootstrap host in the cluster cannot be read',
    hint: 'check ConfigMap assisted-installer/bootwright-after-pivot; delete it once the host has joined',
  },
  'after-pivot.no-image': {
    kind: 'input',
    title: 'The image of this program is unknown',
    hint: 'give --images.self IMAGE, or set bootstrap.followUp to never',
  },
  'after-pivot.not-left': {
    kind: 'cluster',
    title: 'An object of the follow-up job is not in the cluster as it was sent',
    hint: 'delete the object that the message names, and run again',
  },
} as const satisfies FailureTable;

/** Builds an error of what follows the bootstrap host. */
export const afterPivotFailure = failuresOf(afterPivotFailures);
