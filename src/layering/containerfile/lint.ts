import { posix } from 'node:path';
import { nearestName } from '../../lib/nearest.ts';
import {
  type Instruction,
  keywords,
  MAX_CONTAINERFILE,
  parseContainerfile,
  type BuildStage,
  expanded,
  stagesOf,
  type Variables,
} from './parse.ts';

/** The rules of the lint, by names that are stable. */
export type ContainerfileRule =
  'syntax' | 'final-stage' | 'final-commit' | 'kernel-arguments' | 'lost-path';

/** A finding in a Containerfile. */
export interface ContainerfileFinding {
  readonly rule: ContainerfileRule;
  readonly severity: 'error' | 'warning';
  /** From 1. */
  readonly line: number;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}

const findingOf =
  (severity: ContainerfileFinding['severity']) =>
  (rule: ContainerfileRule, line: number, message: string): ContainerfileFinding => ({
    rule,
    severity,
    line,
    message,
  });

/** A build that fails, or content that is certainly missing on the machines. */
const error = findingOf('error');

/** A likely mistake. */
const warning = findingOf('warning');

/**
 * What is wrong with the Containerfile of a MachineOSConfig, in the order of its lines: what its
 * builder would refuse, and what would be missing on the machines without an error.
 */
export function lintContainerfile(content: string): readonly ContainerfileFinding[] {
  if (content.length > MAX_CONTAINERFILE) {
    const problem = `the Containerfile has ${content.length} characters, and a MachineOSConfig takes at most 4096`;
    return [error('syntax', 1, `${problem}: shorten it`)];
  }
  const instructions = parseContainerfile(content);
  const isCommentAlone = instructions.length === 0 && content.trim() !== '';
  if (isCommentAlone) return [];
  const stages = stagesOf(instructions);
  const placed = placedInstructions(stages);
  const found = [
    ...instructions.flatMap(syntaxFindings),
    ...baseFindings(stages),
    ...stageFindings(stages),
    ...stages
      .filter(({ isOnConfigs }) => isOnConfigs)
      .flatMap((stage) => placed.get(stage) ?? [])
      .flatMap(lostPathFindings),
    ...stages.flatMap((stage) => stage.instructions).flatMap(kargsFindings),
  ];
  return found.sort((a, b) => a.line - b.line);
}

/** Instructions that may stand alone. */
const ALONE = ['CMD', 'ENTRYPOINT'];

/** What a builder rejects before it builds anything. */
function syntaxFindings(instruction: Instruction): readonly ContainerfileFinding[] {
  const { keyword, line, unterminated, isUnclear } = instruction;
  if (!keywords.includes(keyword)) {
    const near = nearestName(keyword, keywords);
    const advice = near === undefined ? 'see Containerfile(5)' : `write ${near}`;
    return [
      error('syntax', line, `${keyword} is not an instruction of a Containerfile: ${advice}`),
    ];
  }
  if (isUnclear) {
    const problem = `the end of the here-document in ${textOf(instruction)} is not clear`;
    return [warning('syntax', line, `${problem}: nothing below this line was checked`)];
  }
  if (unterminated !== undefined) {
    const problem = `the here-document of this ${keyword} has no end`;
    return [error('syntax', line, `${problem}: write ${unterminated} on a line of its own`)];
  }
  const problem = argumentsProblem(instruction);
  return problem === undefined ? [] : [error('syntax', line, problem)];
}

function argumentsProblem({ keyword, words, body }: Instruction): string | undefined {
  if (keyword === 'FROM') return fromProblem(words);
  if (keyword === 'COPY' || keyword === 'ADD') {
    if (words.length >= 2) return undefined;
    return `${keyword} needs a source and a destination: write ${keyword} SOURCE DESTINATION`;
  }
  if (words.length + body.length > 0) return undefined;
  return ALONE.includes(keyword)
    ? undefined
    : `${keyword} has no arguments: write what it should do`;
}

function fromProblem(words: readonly string[]): string | undefined {
  const isNamed = words.length === 3 && words[1]?.toUpperCase() === 'AS';
  if (words.length === 1 || isNamed) return undefined;
  const problem =
    words.length === 0 ? 'FROM names no image' : `FROM ${words.join(' ')} is not understood`;
  return `${problem}: write FROM IMAGE, or FROM IMAGE AS NAME`;
}

/** A variable of a word in which those with a value have it. */
const VARIABLE = /\$\{?(\w*)/;

/**
 * A FROM knows no ARG of this text: all of it comes after the first FROM of the operator's
 * template.
 */
function baseFindings(stages: readonly BuildStage[]): readonly ContainerfileFinding[] {
  const before = stages[0]?.base === '' ? stages[0].instructions : [];
  return stages.flatMap(({ base, line, isMalformed }) => {
    const [, name = ''] = VARIABLE.exec(base) ?? [];
    if (isMalformed || name === '') return [];
    const set = before.find(({ variables }) => variables.some(([one]) => one === name));
    const problem = `FROM ${base} has no value for ${name}`;
    const reason =
      set === undefined
        ? "no ARG of this text comes before the first FROM of the operator's template"
        : `the ${set.keyword} in line ${set.line} belongs to the last stage of the operator's template, which comes before this text`;
    return [error('syntax', line, `${problem}, as ${reason}: write the name of the image`)];
  });
}

function stageFindings(stages: readonly BuildStage[]): readonly ContainerfileFinding[] {
  const last = stages.at(-1);
  if (last === undefined) {
    return [error('final-stage', 1, 'there is no stage: begin with FROM configs AS final')];
  }
  // A FROM that no builder understands has been reported already.
  if (last.isMalformed || VARIABLE.test(last.base)) return [];
  if (!last.isOnConfigs) {
    const problem = `the last stage is built on ${last.base}, so the MachineConfig of the pool is not in the image`;
    return [error('final-stage', last.line, `${problem}: write FROM configs AS final`)];
  }
  return [...nameFindings(last), ...checkFindings(last)];
}

function nameFindings({ name, base, line }: BuildStage): readonly ContainerfileFinding[] {
  if (base === '' || name.toLowerCase() === 'final') return [];
  const found = name === '' ? 'without a name' : `called ${name}`;
  const advice = `write FROM ${base} AS final`;
  return [warning('final-stage', line, `the last stage is ${found}: ${advice}`)];
}

const CHECK = /\b(?:ostree container commit|bootc container lint)\b/;

function checkFindings({ instructions }: BuildStage): readonly ContainerfileFinding[] {
  const changing = instructions.findLast(({ keyword }) => /^(?:RUN|COPY|ADD)$/.test(keyword));
  if (changing === undefined || changing.unterminated !== undefined || changing.isUnclear) {
    return [];
  }
  const { keyword, words, body, line } = changing;
  if (keyword === 'RUN' && CHECK.test([...words, ...body].join(' '))) return [];
  const advice = 'end with RUN ostree container commit, or RUN bootc container lint';
  const problem = `nothing checks the image after the last ${keyword}`;
  return [warning('final-commit', line, `${problem}: ${advice}`)];
}

function lostPathFindings({
  instruction,
  paths,
}: PlacedInstruction): readonly ContainerfileFinding[] {
  const { keyword, line } = instruction;
  const lost = new Set(paths.flatMap((path) => lossAt(path, keyword) ?? []));
  return [...lost].map((message) => {
    if (keyword === 'COPY' || keyword === 'ADD') return error('lost-path', line, message);
    const text = keyword === 'RUN' ? ` (${textOf(instruction)})` : '';
    return warning('lost-path', line, `${message}${text}`);
  });
}

const KARGS_FOLDER = /\/usr\/lib\/bootc\/kargs\.d\b/;
const KARGS_PROGRAM = /\b(?:grubby\s+-|rpm-ostree\s+kargs\b)/;

function kargsFindings(instruction: Instruction): readonly ContainerfileFinding[] {
  const { keyword, words, body, line } = instruction;
  if (!/^(?:RUN|COPY|ADD|WORKDIR|VOLUME)$/.test(keyword)) return [];
  const texts = keyword === 'RUN' ? [words.join(' '), ...body] : [words.join(' ')];
  const advice = 'set it in spec.kernelArguments of a MachineConfig';
  if (texts.some((text) => KARGS_FOLDER.test(text))) {
    const problem = 'only bootc reads kargs.d, and machines that rpm-ostree updates ignore it';
    return [warning('kernel-arguments', line, `${problem}: ${advice}`)];
  }
  if (keyword !== 'RUN' || !texts.some((text) => KARGS_PROGRAM.test(text))) return [];
  const problem = 'kernel arguments belong to a machine, not to an image';
  return [warning('kernel-arguments', line, `${problem}: ${advice} (${textOf(instruction)})`)];
}

const SHOWN = 80;

function textOf({ keyword, words, body }: Instruction): string {
  const text = [keyword, ...words, ...body].join(' ');
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

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
function lossAt(path: string, keyword: string): string | undefined {
  const found = LOST.find(([folder]) => path === folder || path.startsWith(`${folder}/`));
  if (found === undefined || PASSING.test(path)) return undefined;
  const [folder, instead] = found;
  // The folder itself is there, on the machines too.
  if (keyword === 'WORKDIR' && path === folder) return undefined;
  return `${path} will not be on the machines, whose ${folder} is their own: ${instead}`;
}

/** An instruction with the paths that it puts something at, from the top. */
interface PlacedInstruction {
  readonly instruction: Instruction;
  readonly paths: readonly string[];
}

interface Context {
  /** The folder that relative paths are below; empty where it is not known. */
  folder: string;
  /** Values by ENV, which win over those by ARG. */
  readonly environment: Map<string, string>;
  readonly defaults: Map<string, string>;
}

/**
 * The instructions of every stage with their paths. A stage continues with the folder and the
 * variables of the one that it is built on.
 */
function placedInstructions(
  stages: readonly BuildStage[],
): ReadonlyMap<BuildStage, readonly PlacedInstruction[]> {
  const ends = new Map<BuildStage, Context>();
  return new Map(
    stages.map((stage) => {
      const start = stage.parent === undefined ? undefined : ends.get(stage.parent);
      const none: Context = { folder: '/', environment: new Map(), defaults: new Map() };
      const context = start === undefined ? none : copyOf(start);
      ends.set(stage, context);
      const placed = stage.instructions.map((instruction) => {
        const paths = pathsOf(instruction, context);
        apply(context, instruction);
        return { instruction, paths };
      });
      return [stage, placed] as const;
    }),
  );
}

const copyOf = ({ folder, environment, defaults }: Context): Context => ({
  folder,
  environment: new Map(environment),
  defaults: new Map(defaults),
});

function apply(context: Context, { keyword, words, variables }: Instruction): void {
  const { environment, defaults } = context;
  if (keyword === 'WORKDIR') {
    context.folder = absolutePath(words.join(' '), context) ?? '';
  }
  const values = variables.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, expanded(value, valuesIn(context))] as const],
  );
  for (const [name, value] of values) (keyword === 'ENV' ? environment : defaults).set(name, value);
}

const valuesIn =
  ({ environment, defaults }: Context): Variables =>
  (name) =>
    environment.get(name) ?? defaults.get(name);

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

/**
 * A path from the top, if that can be known: one that begins with an unknown variable could be
 * anywhere.
 */
function absolutePath(word: string, context: Context): string | undefined {
  const path = expanded(word, valuesIn(context));
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
 * The paths behind `mkdir`, `touch`, `tee` and `>` in a line of a script, by its text alone: it is
 * not read as a shell would read it.
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
