import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of choosing a role. */
export const roleFailures = {
  'role.not-built': {
    kind: 'unsupported',
    title: 'This build does not have the role yet',
    hint: 'use a build that has it, or the agent that this one replaces, for this host',
  },
} as const satisfies FailureTable;

/** Builds an error of choosing a role. */
export const roleFailure = failuresOf(roleFailures);
