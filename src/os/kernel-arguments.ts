import type { KernelArgumentChange } from './driver.ts';

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
 * each boot, `$ignition_firstboot`, stands there as it is written. Undefined when no entry fits.
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
