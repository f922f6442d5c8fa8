/**
 * Kernel arguments that are to come and to go, as the Machine Config Operator changes them: first
 * all that go, then all that come.
 */
export interface KernelArgumentChange {
  /** Come to the end, in this order. */
  readonly append: readonly string[];
  /**
   * Removes one occurrence for each time that it is given, in the given order; what is not there
   * does not matter.
   */
  readonly remove: readonly string[];
  /** Each that is to go goes wherever it stands, and nothing changes where all is as requested. */
  readonly everywhere?: boolean;
}

/**
 * Splits kernel arguments at blanks that stand in no double quotes, which cannot be escaped (Linux,
 * `next_arg` of lib/cmdline.c). Quotes stay: they belong to the value.
 */
export const splitArguments = (text: string): readonly string[] =>
  text.match(/(?:[^ \t\n\v\f\r"]|"[^"]*(?:"|$))+/g) ?? [];

/** The kernel arguments of a command line, without those that the boot loader adds. */
export const argumentsIn = (commandLine: string): readonly string[] =>
  splitArguments(commandLine).filter((word) => !/^(BOOT_IMAGE|initrd|ostree)=/.test(word));

/**
 * A list without some of its elements, each taken out once for each time that it is given, the
 * first first.
 */
export function without(list: readonly string[], taken: readonly string[]): readonly string[] {
  const rest = [...list];
  for (const one of taken) {
    const at = rest.indexOf(one);
    if (at >= 0) rest.splice(at, 1);
  }
  return rest;
}

/**
 * What a change comes to where some arguments are there: what goes, and all that there are then.
 */
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
 * Whether arguments are in force: in their order, each as often as it is given, with others
 * between. Quotes make no difference to the kernel, and GRUB takes them off.
 */
export function areInForce(present: readonly string[], wanted: readonly string[]): boolean {
  const bare = (argument = ''): string => argument.replaceAll('"', '');
  let found = 0;
  for (const argument of present)
    if (found < wanted.length && bare(argument) === bare(wanted[found])) found += 1;
  return found === wanted.length;
}

/**
 * Whether a change was made already, as far as that shows: what comes is in force, and what goes is
 * not there.
 */
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

/** An entry of the boot loader (Boot Loader Specification). */
interface BootEntry {
  /** The link of ostree to the deployment that it boots: `/ostree/boot.1/STATEROOT/CHECKSUM/0`. */
  readonly link: string;
  /**
   * Without what the boot loader adds; what GRUB fills in, `$ignition_firstboot`, is there
   * literally.
   */
  readonly kernelArguments: readonly string[];
  /** Those that bootc keeps for a source of its command `loader-entries`, by the source. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
}

/** Reads an entry that ostree wrote; undefined where it boots no deployment. */
export function readBootEntry(text: string): BootEntry | undefined {
  const options = /^options\s+(.*)$/m.exec(text)?.[1] ?? '';
  const link = splitArguments(options).find((argument) => argument.startsWith('ostree='));
  if (link === undefined) return undefined;
  const sources = [...text.matchAll(/^x-options-source-([\w-]+)[ \t]+(.*)$/gm)];
  return {
    link: link.slice('ostree='.length),
    kernelArguments: argumentsIn(options),
    sources: new Map(sources.map(([, name = '', list = '']) => [name, splitArguments(list)])),
  };
}
