import { programOf } from './run.ts';
import type { ShellCommand } from './shell.ts';

/** Programs that leave the image as it is. */
const HARMLESS = 'echo printf true : test [ [[ ls date cat exit set'.split(' ');
/** Words of the shell that end what came before. */
const CLOSING = ['fi', 'done', 'esac', '}', 'else'];

/**
 * Whether a check of the image is the last thing that a script does to it, and decides how the script ends: nothing
 * is changed behind it, and its failure is the script's.
 */
export function endsWithCheck(commands: readonly ShellCommand[]): boolean {
  const at = commands.findLastIndex(isCheck);
  const check = commands[at];
  if (check === undefined) return false;
  const before = commands[at - 1];
  if (check.joint === '||' && (before === undefined || !isCheck(before))) return false;
  const rest = commands.slice(at + 1).filter(({ words }) => !CLOSING.includes(words[0] ?? ''));
  const earlier = commands.slice(0, at);
  return isKept(rest, {
    stopsAtFailure: earlier.some((command) => sets(command, /^-[a-z]*e/, 'errexit')),
    seesPipes: earlier.some((command) => sets(command, /^$/, 'pipefail')),
  });
}

function isCheck(command: ShellCommand): boolean {
  if (/^(?:!|if|elif|while|until)$/.test(command.words[0] ?? '')) return false;
  const words = programOf(command).slice(0, 3).join(' ');
  return words === 'ostree container commit' || words === 'bootc container lint';
}

const sets = (command: ShellCommand, option: RegExp, name: string): boolean => {
  const [program, ...words] = programOf(command);
  return program === 'set' && words.some((word) => option.test(word) || word === name);
};

/** Whether the failure of a check is still that of the script behind other commands, and the image as it was. */
function isKept(
  rest: readonly ShellCommand[],
  { stopsAtFailure, seesPipes }: { readonly stopsAtFailure: boolean; readonly seesPipes: boolean },
): boolean {
  const [next] = rest;
  if (next === undefined) return true;
  if (next.joint === '||') return rest.some(fails);
  if (next.joint === '|') return seesPipes;
  const isHarmless = rest.every(
    (command) => HARMLESS.includes(programOf(command)[0] ?? '') && command.outputs.length === 0,
  );
  return isHarmless && (rest.every(({ joint }) => joint === '&&') || stopsAtFailure);
}

/** What a script does where it gives up. */
function fails(command: ShellCommand): boolean {
  const [program, code = ''] = programOf(command);
  return program === 'false' || (program === 'exit' && /^[1-9$]/.test(code));
}
