// What becomes of an installation when a command of one of its steps has a fault, from its first try to its last.
// test/roles/command-faults.test.ts runs each cell on a simulated host.

/** Every fault of a command. */
export const commandFaults = {
  missing: 'the host does not have the program',
  fails: 'it ends with an exit code that is no answer',
  hangs: 'it does not end before its limit',
  garbage: 'it does what it should, and prints bytes that mean nothing',
} as const;

/** A fault of a command by its name. */
export type CommandFault = keyof typeof commandFaults;

/** How a step ends that met a fault. */
export interface CommandEnding {
  /** `ends`: the installation ends; `warns`: it continues and says so; `continues`: nothing depends on it. */
  readonly outcome: 'ends' | 'warns' | 'continues';
  /** Of the failure, or in the warning; some warnings have none. */
  readonly code?: string;
  /** How often the step is tried. */
  readonly attempts: number;
  /** Words of the message that name the cause, where they are not the name of the program. */
  readonly says?: string;
}

/** How a command ends, by its fault. */
export type Endings = Readonly<Record<CommandFault, CommandEnding>>;

/** Commands that end alike: by their steps, and the names that `test/roles/command-name.ts` gives them. */
export interface CommandRow {
  readonly where: Readonly<Record<string, readonly string[]>>;
  /** Others of the same code, which are not run on their own. */
  readonly alike?: Readonly<Record<string, readonly string[]>>;
  readonly endings: Endings;
}

/** The installation ends with this. */
export const ends = (code: string, attempts = 1, says?: string): CommandEnding => ({
  outcome: 'ends',
  code,
  attempts,
  ...(says === undefined ? {} : { says }),
});
/** The installation continues, and says what it did without. */
export const warns = (code?: string, says?: string): CommandEnding => ({
  outcome: 'warns',
  attempts: 1,
  ...(code === undefined ? {} : { code }),
  ...(says === undefined ? {} : { says }),
});
/** Nothing depends on it, or what follows from it is looked at later. */
export const goesOn: CommandEnding = { outcome: 'continues', attempts: 1 };

/** The installation cannot do without it. What hangs is not tried again: it would hang for as long again. */
export const needed = (attempts: number, other: Partial<Endings> = {}): Endings => ({
  missing: ends('command.not-found', attempts),
  fails: ends('command.failed', attempts),
  hangs: ends('command.timed-out'),
  garbage: goesOn,
  ...other,
});

/** The installation can do without it, and says what it did without. */
export const wanted = (other: Partial<Endings> = {}): Endings => ({
  missing: warns('command.not-found'),
  fails: warns('command.failed'),
  hangs: warns('command.timed-out'),
  garbage: goesOn,
  ...other,
});

/** Ends alike whatever the fault, or nearly so. */
export const alike = (ending: CommandEnding, other: Partial<Endings> = {}): Endings => ({
  missing: ending,
  fails: ending,
  hangs: ending,
  garbage: ending,
  ...other,
});
