import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of keeping the journal of a run. */
export const journalFailures = {
  'journal.not-kept': {
    kind: 'host',
    title: 'The journal of the run cannot be kept',
    hint: 'look at free space and mounts of /opt on the host',
  },
} as const satisfies FailureTable;

/** Builds an error of the journal. */
export const journalFailure = failuresOf(journalFailures);
