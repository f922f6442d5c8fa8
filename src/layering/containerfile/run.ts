import { posix } from 'node:path';
import type { Instruction } from './parse.ts';
import { type ShellCommand, shellCommands } from './shell.ts';
import { behindFlags, bracketed } from './words.ts';

const SHELLS = ['sh', 'bash', 'dash', 'ash'];

/** The commands of a RUN: those of its text, of a script in a here-document, and of one that a shell is given. */
export function commandsOf({ text, bodies }: Instruction): readonly ShellCommand[] {
  const script = behindFlags(text);
  const words = bracketed(script);
  const commands =
    words === undefined
      ? shellCommands(script, bodies)
      : [{ joint: '' as const, words, outputs: [], inputs: [] }];
  return commands.flatMap((command) => withInner(command));
}

/** What may stand before the program of a command. */
const LEADING =
  /^(?:then|do|else|if|elif|while|until|!|\{|time|exec|sudo|env|nice|command|[A-Za-z_]\w*=.*)$/s;

/** The program of a command by its name alone, with its arguments. */
export function programOf({ words }: Pick<ShellCommand, 'words'>): readonly string[] {
  const start = words.findIndex((word) => !LEADING.test(word));
  const [program = '', ...rest] = start < 0 ? [] : words.slice(start);
  return [posix.basename(program), ...rest];
}

interface InnerScript {
  readonly text: string;
  /** Those of the shell, which `set` takes too. */
  readonly options: readonly string[];
}

function withInner(command: ShellCommand): readonly ShellCommand[] {
  const script = innerScript(command);
  if (script === undefined) return [command];
  const { joint, outputs } = command;
  const isPlain = script.options.length + outputs.length === 0;
  const [first, ...rest] = shellCommands(script.text).flatMap(withInner);
  const settings = { joint, words: ['set', ...script.options], outputs, inputs: [] };
  return [
    ...(isPlain ? [] : [settings]),
    ...(first === undefined ? [] : [{ ...first, joint: isPlain ? joint : ('&&' as const) }]),
    ...rest,
  ];
}

function innerScript({ words, inputs }: ShellCommand): InnerScript | undefined {
  const [body] = inputs;
  if (words.length === 0) return body === undefined ? undefined : byItself(body);
  const [program = '', ...rest] = programOf({ words });
  if (!SHELLS.includes(program)) return undefined;
  const at = rest.findIndex((word) => /^-[a-z]*c[a-z]*$/.test(word));
  const text = at < 0 ? body : rest[at + 1];
  const options = (at < 0 ? rest : rest.slice(0, at + 1)).map((word) =>
    word.startsWith('-') ? word.replaceAll(/[cls]/g, '') : word,
  );
  return text === undefined ? undefined : { text, options: options.filter((word) => word !== '-') };
}

/** A here-document without a command is run by the shell, or by what its first line names. */
function byItself(body: string): InnerScript | undefined {
  const named = /^#!\s*(?:\S*\/)?(?:env\s+)?(?<program>\S+)(?<options>[^\n]*)/.exec(body)?.groups;
  if (named === undefined) return { text: body, options: [] };
  if (!SHELLS.includes(posix.basename(named['program'] ?? ''))) return undefined;
  const options = (named['options'] ?? '').split(/\s+/).filter((word) => word !== '');
  return { text: body, options };
}
