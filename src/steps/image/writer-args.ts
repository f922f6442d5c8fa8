// What the arguments for coreos-installer that a person gives mean for the rest of an installation.

/** Kernel arguments as arguments for coreos-installer change them. */
export interface KernelArgumentChanges {
  readonly append: readonly string[];
  readonly remove: readonly string[];
}

/**
 * Reads `--append-karg` and `--delete-karg`, as two words or one, in their order; a flag without a
 * value is left out.
 */
export function kernelArgumentChanges(writerArgs: readonly string[]): KernelArgumentChanges {
  const append: string[] = [];
  const remove: string[] = [];
  for (const [index, word] of writerArgs.entries()) {
    const match = /^--(append|delete)-karg(?:=(.*))?$/s.exec(word);
    const value = match === null ? undefined : (match[2] ?? writerArgs[index + 1]);
    if (match === null || value === undefined) continue;
    (match[1] === 'append' ? append : remove).push(value);
  }
  return { append, remove };
}

/** What of the changes is still to be made to present kernel arguments. */
export function missingChanges(
  { append, remove }: KernelArgumentChanges,
  present: readonly string[],
): KernelArgumentChanges {
  return {
    append: append.filter((argument) => !present.includes(argument)),
    remove: remove.filter((argument) => present.includes(argument)),
  };
}

/** Whether arguments for coreos-installer ask to take the network settings of the host along. */
export const copiesNetwork = (writerArgs: readonly string[]): boolean =>
  writerArgs.some((word) => word === '-n' || word === '--copy-network');

/** Whether arguments for coreos-installer make it keep partitions (`--save-partlabel`, `--save-partindex`). */
export const keepsPartitions = (writerArgs: readonly string[]): boolean =>
  writerArgs.some((word) => /^--save-part(label|index)(=|$)/.test(word));

/** Options of `coreos-installer install` that name an image; they shut out each other. */
const imageOptions = /^(--(image-url|image-file|stream|offline)(=|$)|-[ufs])/;

/** The argument for coreos-installer that names an image, if there is one. */
export const namesImage = (writerArgs: readonly string[]): string | undefined =>
  writerArgs.find((word) => imageOptions.test(word));
