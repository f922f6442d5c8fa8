import { parse } from 'smol-toml';
import { z } from 'zod';

/**
 * Kernel arguments to append and to remove, in the order of the Machine Config Operator: it removes
 * first and appends then.
 */
export interface KernelArgumentChange {
  /** Appended to the end, in this order. */
  readonly append: readonly string[];
  /** Each entry removes one occurrence, in the given order; a missing argument is ignored. */
  readonly remove: readonly string[];
  /**
   * Each entry removes every occurrence; nothing changes if the arguments are as requested already.
   */
  readonly everywhere?: boolean;
}

/**
 * Splits kernel arguments at blanks outside of double quotes, which cannot be escaped (Linux,
 * `next_arg` of lib/cmdline.c). Quotes stay: they belong to the value.
 */
export const splitArguments = (text: string): readonly string[] =>
  text.match(/(?:[^ \t\n\v\f\r"]|"[^"]*(?:"|$))+/g) ?? [];

/** The kernel arguments of a command line, without those that the boot loader adds. */
export const argumentsIn = (commandLine: string): readonly string[] =>
  splitArguments(commandLine).filter((word) => !/^(BOOT_IMAGE|initrd|ostree)=/.test(word));

/**
 * The list without some of its elements: each entry of `taken` removes the first occurrence that
 * remains.
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
 * The result of a change on the present arguments: those that are removed, and the whole list
 * afterwards.
 */
export function changedArguments(
  present: readonly string[],
  change: KernelArgumentChange,
): { readonly gone: readonly string[]; readonly all: readonly string[] } {
  const { append, remove, everywhere = false } = change;
  if (everywhere && isApplied(present, change)) return { gone: [], all: present };
  const asked = everywhere ? present.filter((argument) => remove.includes(argument)) : remove;
  const gone = without(asked, without(asked, present));
  return { gone, all: [...without(present, gone), ...append] };
}

/** Whether two lists are the same, element by element. */
export const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((element, at) => element === other[at]);

/**
 * Whether arguments are in force: in their order, each as often as wanted, with others between
 * them. Quotes make no difference to the kernel, and GRUB removes them.
 */
export function areInForce(present: readonly string[], wanted: readonly string[]): boolean {
  let found = 0;
  for (const argument of present)
    if (found < wanted.length && bare(argument) === bare(wanted[found])) found += 1;
  return found === wanted.length;
}

const bare = (argument = ''): string => argument.replaceAll('"', '');

/**
 * Whether a change was made already, as far as the arguments show: the appended ones are in force,
 * the removed ones are absent.
 */
export function isApplied(
  present: readonly string[],
  { append, remove }: KernelArgumentChange,
): boolean {
  const going = without(remove, append);
  const rest = [...without(present, append), ...without(present.map(bare), append.map(bare))];
  // If only the order changes, nothing is removed: equal arguments of another source may come
  // before ours.
  const isReordered = remove.length === append.length && going.length === 0;
  return (
    areInForce(present, append) &&
    !going.some((argument) => rest.includes(argument) || rest.includes(bare(argument))) &&
    (!isReordered || isSameList(remove, append) || !areInForce(present, remove))
  );
}

/** Whether a change asks for anything. */
export const asksForChange = ({ append, remove }: KernelArgumentChange): boolean =>
  append.length + remove.length > 0;

/** An entry of the boot loader (Boot Loader Specification). */
interface BootEntry {
  /** The link of ostree to the deployment of this entry: `/ostree/boot.1/STATEROOT/CHECKSUM/0`. */
  readonly link: string;
  /**
   * Without the arguments that the boot loader adds. A variable that GRUB replaces,
   * `$ignition_firstboot`, is there literally.
   */
  readonly kernelArguments: readonly string[];
  /** Kernel arguments by the source under which bootc keeps them (its command `loader-entries`). */
  readonly sources: ReadonlyMap<string, readonly string[]>;
}

/** Reads an entry that ostree wrote; undefined if it boots no deployment. */
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

/** Folder of an image with its default kernel arguments in TOML (bootc, kargs.d). */
export const imageArgumentsFolder = 'usr/lib/bootc/kargs.d';

const ArgumentsFile = z.strictObject({
  kargs: z.array(z.string()),
  'match-architectures': z.array(z.string()).optional(),
});

/** Architectures by their name in Rust, which bootc compares; the key is the name of `uname -m`. */
const rustNames: Readonly<Record<string, string>> = { ppc64le: 'powerpc64' };

/**
 * The kernel arguments in one file; empty if the file is for other architectures.
 * @param architecture as `uname -m` prints it
 * @throws Error with the reason if the file is not TOML or has another key (bootc refuses both)
 */
export function readImageArguments(text: string, architecture: string): readonly string[] {
  const file = ArgumentsFile.safeParse(parse(text));
  if (!file.success) throw new Error(z.prettifyError(file.error));
  const { kargs, 'match-architectures': architectures } = file.data;
  const isForHost = architectures?.includes(rustNames[architecture] ?? architecture) ?? true;
  return isForHost ? kargs.flatMap(splitArguments) : [];
}
