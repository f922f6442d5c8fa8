// Kernel arguments of a deployment as rpm-ostree changes and prints them, and as GRUB passes them
// to the kernel.

/** Splits at blanks outside of double quotes (ostree, `split_kernel_args`). */
export const splitLine = (line: string): string[] => line.match(/(?:[^ "]|"[^"]*"?)+/g) ?? [];

/**
 * /proc/cmdline of a kernel that GRUB starts: the script parser removes the quotes, and
 * `grub_create_loader_cmdline` quotes a whole argument if it contains a blank. Duplicates stay.
 */
export const grubLine = (kernelArguments: readonly string[]): string =>
  kernelArguments
    .map((argument) => argument.replaceAll('"', ''))
    .map((argument) => (argument.includes(' ') ? `"${argument}"` : argument))
    .join(' ');

/** The result of `rpm-ostree kargs` for a list. */
type Changed = { readonly list: readonly string[] } | { readonly error: string };

/**
 * Changes a list as `rpm-ostree kargs` does, for any order of its options (rpm-ostree,
 * `kernel_arg_apply_patching`): deletes, appends, appends missing arguments, and then deletes the
 * arguments that existed before. A delete removes the first equal argument; a name alone also
 * removes its only value.
 */
export function changeKargs(present: readonly string[], words: readonly string[]): Changed {
  const given = (name: string): string[] =>
    words.flatMap((word, at) => {
      if (word === name) return [words[at + 1] ?? ''];
      return word.startsWith(`${name}=`) ? [word.slice(name.length + 1)] : [];
    });
  const list = [...present];
  const nameOf = (argument: string): string => argument.split('=', 1)[0] ?? '';
  const takeOut = (argument: string): string | undefined => {
    const named = list.filter((one) => nameOf(one) === nameOf(argument));
    const isAlone = named.length === 1 && !argument.includes('=');
    const at = list.indexOf(isAlone ? (named[0] ?? '') : argument);
    if (at < 0) return `error: No karg '${argument}' found`;
    list.splice(at, 1);
    return undefined;
  };
  for (const argument of given('--delete')) {
    const error = takeOut(argument);
    if (error !== undefined) return { error };
  }
  list.push(...given('--append'));
  for (const argument of given('--append-if-missing'))
    if (!list.includes(argument)) list.push(argument);
  for (const argument of given('--delete-if-present')) {
    const error = present.includes(argument) ? takeOut(argument) : undefined;
    if (error !== undefined) return { error };
  }
  return { list };
}
