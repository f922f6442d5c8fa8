import { parse } from 'smol-toml';
import { z } from 'zod';
import { splitArguments } from './kernel-arguments.ts';

/** Folder of an image with its default kernel arguments (bootc, kargs.d). */
export const imageArgumentsFolder = 'usr/lib/bootc/kargs.d';

/** Whether bootc reads a file of that folder. */
export const isArgumentsFile = (name: string): boolean => name.endsWith('.toml');

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
