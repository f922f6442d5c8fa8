import { type AgentError, failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of the registry settings of a host. */
export const registriesFailures = {
  'registries.bad-ca': {
    kind: 'input',
    title: 'The file with the certificate authorities of registries cannot be used',
    hint: 'set registries.ca to a file on the host with PEM certificates alone, one of them still valid',
  },
} as const satisfies FailureTable;

const registriesFailure = failuresOf(registriesFailures);

/** An error about the file in `registries.ca`. */
export const badAuthorities = (path: string, problem: string): AgentError =>
  registriesFailure('registries.bad-ca', `${path} ${problem}`, { context: { path } });
