import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of the configuration; the program detects all of them before it changes anything. */
export const configFailures = {
  'config.file-not-read': {
    kind: 'input',
    title: 'A configuration file, or a file that a setting names, cannot be read',
    hint: 'check the path and its permissions: the file of the container is read, or else that of the host',
  },
  'config.incomplete': {
    kind: 'input',
    title: 'A required setting is missing',
    hint: 'set what the message names',
  },
  'config.inline-secret': {
    kind: 'input',
    title: 'A configuration file or the command line holds a secret',
    hint: 'set the secret in the environment, or name a file that holds it',
  },
  'config.invalid-value': {
    kind: 'input',
    title: 'A setting has an invalid value',
    hint: 'write a value of the kind that the message names',
  },
  'config.malformed-file': {
    kind: 'input',
    title: 'A configuration file, or a file that a setting names, is malformed',
    hint: 'fix the file at that line',
  },
  'config.unknown-key': {
    kind: 'input',
    title: 'A configuration file has an unknown key',
    hint: 'see docs/configuration.md or "bootwright config schema" for every key',
  },
  'config.unknown-variable': {
    kind: 'input',
    title: 'A variable that begins with BOOTWRIGHT_ names no setting',
    hint: 'see docs/configuration.md for every variable',
  },
} as const satisfies FailureTable;

/** Builds an error of the configuration. */
export const configFailure = failuresOf(configFailures);

/** The hint for an unknown name: its replacement, or the nearest name. */
export const whatToWrite = (
  instead: string | undefined,
  near: string | undefined,
): string | undefined => instead ?? (near === undefined ? undefined : `did you mean ${near}`);

/**
 * A line for a load test of the service (assisted-installer, dry run) would really install this
 * host.
 */
export const noDryRun = (origin: string, hint: string): AgentError =>
  configFailure(
    'config.invalid-value',
    `${origin}: there is no dry run; this host would be installed`,
    {
      hint: `${hint}; "bootwright plan" prints what an install would do, and changes nothing`,
    },
  );

/** systemd would wait for READY=1, and stop the program while it works. */
export const notNotified = (): AgentError =>
  configFailure(
    'config.invalid-value',
    'environment NOTIFY_SOCKET: nothing is sent to systemd, which would stop this program as not started',
    { hint: 'remove Notify=yes of the quadlet, or write Type=exec in the unit' },
  );

/**
 * Takes a mistake in the input. Reading continues without the faulty part, unless this function
 * throws.
 */
export type Refuse = (mistake: AgentError) => void;

/** Ends the reading at the first mistake. */
export const raise: Refuse = (mistake) => {
  throw mistake;
};

/** Passes an error of reading to `refuse`; for `catch`. */
export const refusedBy =
  (refuse: Refuse) =>
  (thrown: unknown): undefined => {
    if (!(thrown instanceof AgentError)) throw thrown;
    refuse(thrown);
    return undefined;
  };

/** Failures of the flags of a command line. */
export const flagFailures = {
  'cli.bad-flag': {
    kind: 'input',
    title: 'A flag, an option or an argument has the wrong form',
    hint: 'see "bootwright --help" for the form of each flag',
  },
  'cli.unknown-flag': {
    kind: 'input',
    title: 'A flag does not exist',
    hint: 'see "bootwright --help" for every flag',
  },
} as const satisfies FailureTable;

/** Builds an error about the flags of a command line. */
export const flagFailure = failuresOf(flagFailures);
