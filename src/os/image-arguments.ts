import { parse } from 'smol-toml';
import { z } from 'zod';
import { splitArguments } from './kernel-arguments.ts';

/** Where an image names the kernel arguments that a host of it boots with (bootc, kargs.d). */
export const imageArgumentsFolder = 'usr/lib/bootc/kargs.d';

/** Whether bootc reads a file of that folder. */
export const isArgumentsFile = (name: string): boolean => name.endsWith('.toml');

const ArgumentsFile = z.strictObject({
  kargs: z.array(z.string()),
  'match-architectures': z.array(z.string()).optional(),
});

/** As Rust names an architecture, whose names bootc compares. */
const rustNames: Readonly<Record<string, string>> = { ppc64le: 'powerpc64' };

/**
 * The kernel arguments of one file; none where it is for other architectures.
 * @param architecture as `uname -m` prints it
 * @throws Error with the reason where the file is not TOML, or has another key (bootc refuses both)
 */
export function readImageArguments(text: string, architecture: string): readonly string[] {
  const file = ArgumentsFile.safeParse(parse(text));
  if (!file.success) throw new Error(z.prettifyError(file.error));
  const { kargs, 'match-architectures': architectures } = file.data;
  const isForHost = architectures?.includes(rustNames[architecture] ?? architecture) ?? true;
  return isForHost ? kargs.flatMap(splitArguments) : [];
}
