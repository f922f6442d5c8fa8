import type { OsStatus } from './status.ts';

/** The programs by which a node can be moved to another image. */
export const driverNames = ['bootc', 'rpm-ostree', 'ostree'] as const;

/** One of them. */
export type DriverName = (typeof driverNames)[number];

/** Kernel arguments that are to come and to go. */
export interface KernelArgumentChange {
  readonly append: readonly string[];
  readonly remove: readonly string[];
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
  /** The kernel arguments that the next boot has without a change, where the driver wants them. */
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
  /** Whether `present` of an order is wanted when kernel arguments change. */
  readonly wantsPresentArguments: boolean;
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

/** The kernel arguments with a change made to them, in their order, none twice. */
export function changedArguments(
  present: readonly string[],
  { append, remove }: KernelArgumentChange,
): readonly string[] {
  const kept = present.filter((argument) => !remove.includes(argument));
  return [...kept, ...append.filter((argument) => !kept.includes(argument))];
}

/** Whether the kernel was started with what is to come, and without what is to go. */
export function isChanged(
  present: readonly string[],
  { append, remove }: KernelArgumentChange,
): boolean {
  return (
    append.every((argument) => present.includes(argument)) &&
    !remove.some((argument) => present.includes(argument))
  );
}

/** Whether a change asks for anything. */
export const asksForChange = ({ append, remove }: KernelArgumentChange): boolean =>
  append.length + remove.length > 0;

/** The kernel arguments of a command line, without the words that the boot loader adds. */
export const argumentsIn = (commandLine: string): readonly string[] =>
  commandLine
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '' && !/^(BOOT_IMAGE|initrd|ostree)=/.test(word));

/**
 * The kernel arguments that the boot loader has for the system that runs: `options` of the entry
 * (Boot Loader Specification) whose `ostree=` the kernel was started with. What GRUB fills in at
 * each boot, `$ignition_firstboot`, is there as it is written. Undefined when no entry fits.
 */
export function bootEntryArguments(
  entries: readonly string[],
  commandLine: string,
): readonly string[] | undefined {
  const root = /(?:^|\s)(ostree=\S+)/.exec(commandLine)?.[1];
  if (root === undefined) return undefined;
  const options = entries
    .map((entry) => /^options\s+(.*)$/m.exec(entry)?.[1] ?? '')
    .find((words) => words.split(/\s+/).includes(root));
  return options === undefined ? undefined : argumentsIn(options);
}
