import { programOf } from './run.ts';
import type { ShellCommand } from './shell.ts';

/** Programs that write, whose arguments are looked at. */
const WRITING: ReadonlySet<string> = new Set([
  ...['cp', 'mv', 'mkdir', 'install', 'touch', 'ln', 'tee', 'rsync', 'curl', 'wget', 'tar'],
  ...['unzip', 'git', 'chmod', 'chown', 'useradd'],
]);
/** Of these, the ones that write to the last of their arguments alone. */
const COPYING: ReadonlySet<string> = new Set(['cp', 'mv', 'install', 'ln', 'rsync']);

/** The paths that a command of a shell seems to write to, from the top. */
export function writtenBy(command: ShellCommand): readonly string[] {
  const [program = '', ...words] = programOf(command);
  const named = WRITING.has(program) ? argumentPaths(program, words) : [];
  return [...command.outputs, ...named].filter((path) => path.startsWith('/'));
}

function argumentPaths(program: string, words: readonly string[]): readonly string[] {
  const isCopy = COPYING.has(program) && !(program === 'install' && words.some(makesFolders));
  if (!isCopy) return words.map(pathIn);
  const folder = words.findIndex((word) => word === '-t' || word === '--target-directory');
  if (folder >= 0) return words.slice(folder + 1, folder + 2);
  const target = words.find((word) => word.startsWith('--target-directory='));
  if (target !== undefined) return [pathIn(target)];
  const operands = words.filter((word) => !word.startsWith('-'));
  return operands.length < 2 ? [] : operands.slice(-1);
}

const makesFolders = (word: string): boolean =>
  word === '--directory' || /^-[a-zA-Z]*d[a-zA-Z]*$/.test(word);

/** A path by itself or behind `--prefix=`. */
const pathIn = (word: string): string =>
  /^(?:[^/=\s]*=)?(?<path>.*)$/s.exec(word)?.groups?.['path'] ?? '';
