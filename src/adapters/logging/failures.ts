import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of keeping a log. */
export const logFailures = {
  'log.not-opened': {
    kind: 'host',
    title: 'The log file cannot be opened',
    hint: 'mount /var/log of the host into the container, or name another file with log.file',
  },
} as const satisfies FailureTable;

/** Builds an error of the log. */
export const logFailure = failuresOf(logFailures);
