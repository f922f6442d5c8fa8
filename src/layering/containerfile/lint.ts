import { nearestName } from '../../lib/nearest.ts';
import {
  type Instruction,
  keywords,
  MAX_CONTAINERFILE,
  parseContainerfile,
  type BuildStage,
  stagesOf,
} from './parse.ts';
import { lossAt, type PlacedInstruction, placedInstructions } from './paths.ts';

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

/** A build that fails, or content that is certainly missing on the machines. */
const error = (rule: ContainerfileRule, line: number, message: string): ContainerfileFinding => ({
  rule,
  severity: 'error',
  line,
  message,
});

/** A likely mistake. */
const warning = (rule: ContainerfileRule, line: number, message: string): ContainerfileFinding => ({
  rule,
  severity: 'warning',
  line,
  message,
});

/**
 * What is wrong with the Containerfile of a MachineOSConfig, in the order of its lines: what its builder would
 * refuse, and what would be missing on the machines without an error.
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
  const first = instructions.findIndex(({ keyword }) => keyword === 'FROM');
  const outer = stages[0]?.base === '' ? 0 : Math.max(first, 0);
  const placed = placedInstructions(stages, instructions.slice(0, outer));
  const found = [
    ...instructions.flatMap(syntaxFindings),
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

function stageFindings(stages: readonly BuildStage[]): readonly ContainerfileFinding[] {
  const last = stages.at(-1);
  if (last === undefined) {
    return [error('final-stage', 1, 'there is no stage: begin with FROM configs AS final')];
  }
  // A FROM that no builder understands has been reported already.
  if (last.isMalformed) return [];
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

/** An instruction as it begins, for messages. */
function textOf({ keyword, words, body }: Instruction): string {
  const text = [keyword, ...words, ...body].join(' ');
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
