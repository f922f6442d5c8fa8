import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of telling the inventory service how a run goes; none of them ends a run. */
export const reportFailures = {
  'report.unsent': {
    kind: 'remote',
    title: 'A report did not reach the service before the run ended',
    hint: 'look at the log of the host for how the run ended; the service shows an older stage',
  },
} as const satisfies FailureTable;

/** Builds an error of reporting. */
export const reportFailure = failuresOf(reportFailures);
