import { posix } from 'node:path';
import type { Instruction, BuildStage } from './parse.ts';

/** Folders whose content an image does not bring to a running machine, with what to do instead. */
const LOST: readonly (readonly [folder: string, instead: string])[] = [
  ['/usr/local', 'put it below /usr/lib or /usr/bin'],
  ['/var', 'create it at boot by /usr/lib/tmpfiles.d, or by StateDirectory= of a unit'],
  ['/home', 'create the user and its files by a MachineConfig'],
  ['/opt', 'put it below /usr/lib, and link to it from the path that programs expect'],
  ['/root', 'create the file by a MachineConfig'],
  ['/srv', 'create it at boot by /usr/lib/tmpfiles.d'],
];

/** Below these, what is left behind is meant to go: caches and logs of the build. */
const PASSING = /^\/var\/(?:cache|log|tmp|lib\/(?:dnf|rpm-state))(?:\/|$)/;

/** Why what is put at a path will be missing on machines; undefined where it will not. */
export function lossAt(path: string, keyword: string): string | undefined {
  const found = LOST.find(([folder]) => path === folder || path.startsWith(`${folder}/`));
  if (found === undefined || PASSING.test(path)) return undefined;
  const [folder, instead] = found;
  // The folder itself is there, on the machines too.
  if (keyword === 'WORKDIR' && path === folder) return undefined;
  return `${path} will not be on the machines, whose ${folder} is their own: ${instead}`;
}

/** An instruction with the paths that it puts something at, from the top. */
export interface PlacedInstruction {
  readonly instruction: Instruction;
  readonly paths: readonly string[];
}

/** What holds at an instruction. */
interface Context {
  /** The folder that relative paths are below; empty where it is not known. */
  folder: string;
  /** Values by ENV, which win over those by ARG. */
  readonly environment: Map<string, string>;
  readonly defaults: Map<string, string>;
}

/**
 * The instructions of every stage with their paths. A stage continues with the folder and the variables of the one that
 * it is built on.
 * @param before the instructions before the first stage, whose ARGs hold where a stage asks for them
 */
export function placedInstructions(
  stages: readonly BuildStage[],
  before: readonly Instruction[],
): ReadonlyMap<BuildStage, readonly PlacedInstruction[]> {
  const outer = emptyContext();
  for (const instruction of before) apply(outer, instruction, new Map());
  const ends = new Map<BuildStage, Context>();
  return new Map(
    stages.map((stage) => {
      const start = stage.parent === undefined ? undefined : ends.get(stage.parent);
      const context = start === undefined ? emptyContext() : copyOf(start);
      ends.set(stage, context);
      const placed = stage.instructions.map((instruction) => {
        const paths = pathsOf(instruction, context);
        apply(context, instruction, outer.defaults);
        return { instruction, paths };
      });
      return [stage, placed] as const;
    }),
  );
}

const emptyContext = (): Context => ({ folder: '/', environment: new Map(), defaults: new Map() });

const copyOf = ({ folder, environment, defaults }: Context): Context => ({
  folder,
  environment: new Map(environment),
  defaults: new Map(defaults),
});

function apply(
  context: Context,
  { keyword, words, variables }: Instruction,
  outer: ReadonlyMap<string, string>,
): void {
  const { environment, defaults } = context;
  if (keyword === 'WORKDIR') {
    context.folder = absolutePath(words.join(' '), context) ?? '';
  }
  const values = variables.flatMap(([name, value]) => {
    const given = value === undefined ? outer.get(name) : expanded(value, context);
    return given === undefined ? [] : [[name, given] as const];
  });
  for (const [name, value] of values) (keyword === 'ENV' ? environment : defaults).set(name, value);
}

function pathsOf(instruction: Instruction, context: Context): readonly string[] {
  const { keyword, words } = instruction;
  switch (keyword) {
    case 'COPY':
    case 'ADD':
      return absolutePaths(words.slice(-1), context);
    case 'WORKDIR':
      return absolutePaths([words.join(' ')], context);
    case 'VOLUME':
      return absolutePaths(words, context);
    case 'RUN':
      return scriptLines(instruction).flatMap(namedToWrite).map(cleanPath);
    default:
      return [];
  }
}

const absolutePaths = (words: readonly string[], context: Context): readonly string[] =>
  words.flatMap((word) => (word === '' ? [] : (absolutePath(word, context) ?? [])));

/** A path from the top, if that can be known: one that begins with an unknown variable could be anywhere. */
function absolutePath(word: string, context: Context): string | undefined {
  const path = expanded(word, context);
  if (path.startsWith('/')) return cleanPath(path);
  const { folder } = context;
  return folder === '' || path.startsWith('$') ? undefined : cleanPath(`${folder}/${path}`);
}

/** Without `.`, `..` and doubled or trailing slashes. */
const cleanPath = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');

/** The lines of a RUN, or of the script in its here-document. */
const scriptLines = ({ words, body }: Instruction): readonly string[] =>
  words[0]?.startsWith('<<') === true ? body : [words.join(' ')];

/**
 * The paths behind `mkdir`, `touch`, `tee` and `>` in a line of a script, by its text alone: it is not read as a shell
 * would read it.
 */
function namedToWrite(line: string): readonly string[] {
  const withoutComment = line.replace(/(?:^|\s)#.*$/s, '');
  return withoutComment.split(/[;&|]/).flatMap((command) => {
    const [, named = ''] = /(?:^|\s)(?:mkdir|touch|tee)\s(.*)$/s.exec(command) ?? [];
    const outputs = [...command.matchAll(/>\s?(\S+)/g)].map(([, word = '']) => word);
    return [...named.split(/\s/), ...outputs]
      .map((word) => word.replaceAll(/["']/g, ''))
      .filter((word) => word.startsWith('/'));
  });
}

/** One thing of a word: quotes, an escape, a variable, or plain letters. */
// linear: a word is cut at LONGEST before.
const TOKEN =
  /'(?<single>[^']*)'|"(?<double>(?:\\[\s\S]|[^"\\])*)"|\\(?<escaped>[\s\S])|\$\{(?<name>\w+)(?:(?<operator>:?[-+])(?<other>[^}]*))?\}|\$(?<short>[A-Za-z_]\w*)|(?<plain>[\s\S])/g;

/** As long as a path can be; what is longer is cut, so that no value can grow without end. */
const LONGEST = 4096;

/**
 * A word as the builder takes it: without quotes, and with the values of variables. One whose value is not known
 * stays as it is written.
 */
const expanded = (word: string, context: Context): string =>
  word
    .slice(0, LONGEST)
    .replaceAll(TOKEN, (token, ...rest) => {
      const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>;
      const { single, double, escaped, name, short } = groups;
      if (double !== undefined) return expandedInQuotes(double, context);
      const variable = name ?? short ?? '';
      const value = context.environment.get(variable) ?? context.defaults.get(variable);
      return single ?? escaped ?? otherOf(groups, { value, context }) ?? value ?? token;
    })
    .slice(0, LONGEST);

/** What `${NAME:-OTHER}` and `${NAME:+OTHER}` mean where the value is not what counts. */
function otherOf(
  { operator, other = '' }: Readonly<Record<string, string | undefined>>,
  { value, context }: { readonly value: string | undefined; readonly context: Context },
): string | undefined {
  if (operator === undefined) return undefined;
  const isSet = value !== undefined && (value !== '' || !operator.startsWith(':'));
  if (operator.endsWith('-')) return isSet ? undefined : expanded(other, context);
  return isSet ? expanded(other, context) : '';
}

/** In double quotes only a few characters can be escaped, and single quotes mean nothing. */
const expandedInQuotes = (text: string, context: Context): string =>
  text
    .split(/(\\["$\\]|')/)
    .map((part, index) => (index % 2 === 0 ? expanded(part, context) : part.slice(-1)))
    .join('');
