import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of the configuration; every one is found before anything is touched. */
export const configFailures = {
  'config.file-not-read': {
    kind: 'input',
    title: 'A configuration file, or a file that a setting names, could not be read',
    hint: 'look at the path and its permissions; of a program in a container, those inside it',
  },
  'config.incomplete': {
    kind: 'input',
    title: 'A setting that the run needs is missing',
    hint: 'set what the message names',
  },
  'config.inline-secret': {
    kind: 'input',
    title: 'A secret stands in a configuration file or on the command line',
    hint: 'give the secret in the environment, or name a file that holds it',
  },
  'config.invalid-value': {
    kind: 'input',
    title: 'A setting has a value that it cannot have',
    hint: 'write a value of the kind that the message names',
  },
  'config.malformed-file': {
    kind: 'input',
    title: 'A configuration file, or a file that a setting names, is malformed',
    hint: 'mend the file at the place that the message names',
  },
  'config.unknown-key': {
    kind: 'input',
    title: 'A configuration file has a key that does not exist',
    hint: 'see docs/configuration.md or "bootwright config schema" for every key',
  },
  'config.unknown-variable': {
    kind: 'input',
    title: 'A variable begins with BOOTWRIGHT_ but names no setting',
    hint: 'see docs/configuration.md for every variable',
  },
} as const satisfies FailureTable;

/** Builds an error of the configuration. */
export const configFailure = failuresOf(configFailures);

/** Failures of the flags of a command line. */
export const flagFailures = {
  'cli.bad-flag': {
    kind: 'input',
    title: 'A flag is written in a way that cannot be read',
    hint: 'see "bootwright --help" for the form of each flag',
  },
  'cli.unknown-flag': {
    kind: 'input',
    title: 'There is no such flag',
    hint: 'see "bootwright --help" for every flag',
  },
} as const satisfies FailureTable;

/** Builds an error about the flags of a command line. */
export const flagFailure = failuresOf(flagFailures);
