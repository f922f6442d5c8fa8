import type { OsStatus } from './status.ts';

/** The programs by which a node can be moved to another image. */
export const driverNames = ['bootc', 'rpm-ostree', 'ostree'] as const;

/** One of them. */
export type DriverName = (typeof driverNames)[number];

/** Kernel arguments that are to come and to go, as the Machine Config Operator changes them: first all that go, then all that come. */
export interface KernelArgumentChange {
  /** Come to the end, in this order. */
  readonly append: readonly string[];
  /** Each goes once for each time that it is given, the first first; what is not there does not matter. */
  readonly remove: readonly string[];
  /** Each that is to go goes wherever it stands, and nothing changes where all is as requested. */
  readonly everywhere?: boolean;
}

/** What has to be done so that the image is booted next. */
export type StageKind =
  /** Move to another image. */
  | 'switch'
  /** Follow the same name to what it means now. */
  | 'upgrade'
  /** The image is there; only kernel arguments change. */
  | 'keep';

/** One image that is to be booted next. */
export interface StageRequest {
  readonly kind: StageKind;
  /** Name in a registry. */
  readonly image: string;
  readonly verification: 'none' | 'policy';
  readonly kernelArguments?: KernelArgumentChange;
  /** The stateroot that runs, where it is known. */
  readonly stateroot?: string;
  /** The kernel arguments that the next boot has without a change, where they are known. */
  readonly present?: readonly string[];
}

/** An argv. */
export type Argv = readonly string[];

/**
 * How one program is queried and run: argv builders and parsers, nothing else. Whoever calls runs the
 * commands in their order and stops at the first that fails; up to the last one the host boots what
 * it booted before.
 */
export interface OsDriver {
  readonly name: DriverName;
  readonly statusArgv: Argv;
  /** What must be read beside the status; each may fail, which reads as an empty text. */
  readonly detailArgvs: (status: string) => readonly Argv[];
  /**
   * Reads the status from what the commands printed.
   * @throws AgentError `os.status-not-read`
   */
  readonly readStatus: (status: string, details: readonly string[]) => OsStatus;
  /**
   * Prints the kernel arguments of what boots next, or of the deployment at a place. Undefined where the boot loader is to be asked; a
   * driver that has it changes arguments by an order of its own, `keep`, once the image is staged.
   */
  readonly argumentsArgv?: (index?: number) => Argv;
  /** @throws AgentError `os.kernel-arguments-unsupported` */
  readonly stageArgvs: (order: StageRequest) => readonly Argv[];
  /** Puts the rollback deployment first; it must be there. */
  readonly rollbackArgvs: (status: OsStatus) => readonly Argv[];
  /** Drops what boots next, staged or put first, so that what runs boots again; undefined where the program cannot. */
  readonly dropNextArgvs: (status: OsStatus) => readonly Argv[] | undefined;
  /** Removes deployments and layers of earlier images that nothing leads back to. */
  readonly cleanArgvs: (status: OsStatus) => readonly Argv[];
}

/** Restarts the host; what is staged is written to the boot loader on the way down. */
export const restartArgv = ['systemctl', 'reboot'] as const;

/**
 * Splits kernel arguments at blanks that stand in no double quotes, which cannot be escaped (Linux, `next_arg` of lib/cmdline.c).
 * Quotes stay: they belong to the value.
 */
export const splitArguments = (text: string): readonly string[] =>
  text.match(/(?:[^ \t\n\v\f\r"]|"[^"]*(?:"|$))+/g) ?? [];

/** The kernel arguments of a command line, without those that the boot loader adds. */
export const argumentsIn = (commandLine: string): readonly string[] =>
  splitArguments(commandLine).filter((word) => !/^(BOOT_IMAGE|initrd|ostree)=/.test(word));

/** A list without some of its elements, each taken out once for each time that it is given, the first first. */
export function without(list: readonly string[], taken: readonly string[]): readonly string[] {
  const rest = [...list];
  for (const one of taken) {
    const at = rest.indexOf(one);
    if (at >= 0) rest.splice(at, 1);
  }
  return rest;
}

/** What a change comes to where some arguments are there: what goes, and all that there are then. */
export function changedArguments(
  present: readonly string[],
  change: KernelArgumentChange,
): { readonly gone: readonly string[]; readonly all: readonly string[] } {
  const { append, remove, everywhere = false } = change;
  if (everywhere && isChanged(present, change)) return { gone: [], all: present };
  const asked = everywhere ? present.filter((argument) => remove.includes(argument)) : remove;
  const gone = without(asked, without(asked, present));
  return { gone, all: [...without(present, gone), ...append] };
}

/** Whether two lists are the same, element by element. */
export const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((element, at) => element === other[at]);

/**
 * Whether arguments are in force: in their order, each as often as it is given, with others between. Quotes make no difference to the
 * kernel, and GRUB takes them off.
 */
export function areInForce(present: readonly string[], wanted: readonly string[]): boolean {
  const bare = (argument = ''): string => argument.replaceAll('"', '');
  let found = 0;
  for (const argument of present)
    if (found < wanted.length && bare(argument) === bare(wanted[found])) found += 1;
  return found === wanted.length;
}

/** Whether a change was made already, as far as that shows: what comes is in force, and what goes is not there. */
export function isChanged(
  present: readonly string[],
  { append, remove }: KernelArgumentChange,
): boolean {
  const going = without(remove, append);
  // Where only the order changes, nothing goes; others may have the same arguments before ours.
  const isReordered = remove.length === append.length && going.length === 0;
  return (
    areInForce(present, append) &&
    !going.some((argument) => without(present, append).includes(argument)) &&
    (!isReordered || isSameList(remove, append) || !areInForce(present, remove))
  );
}

/** Whether a change asks for anything. */
export const asksForChange = ({ append, remove }: KernelArgumentChange): boolean =>
  append.length + remove.length > 0;

/**
 * The kernel arguments that the boot loader has for the system that runs: `options` of the entry
 * (Boot Loader Specification) whose `ostree=` the kernel was started with. What GRUB fills in at
 * each boot, `$ignition_firstboot`, is there literally. Undefined when no entry fits.
 */
export function bootEntryArguments(
  entries: readonly string[],
  commandLine: string,
): readonly string[] | undefined {
  const root = splitArguments(commandLine).find((argument) => argument.startsWith('ostree='));
  const options = entries
    .map((entry) => /^options\s+(.*)$/m.exec(entry)?.[1] ?? '')
    .find((line) => root !== undefined && splitArguments(line).includes(root));
  return options === undefined ? undefined : argumentsIn(options);
}
