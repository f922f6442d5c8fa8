import { endsWithCheck } from './final-check.ts';
import { type ContainerfileFinding, error, warning } from './finding.ts';
import { keywords } from './keywords.ts';
import { type Instruction, parseContainerfile } from './parse.ts';
import { lostPathFindings } from './paths.ts';
import { commandsOf, programOf } from './run.ts';
import { isBuiltOn, type Stage, stagesOf } from './stages.ts';
import { placedStages } from './surroundings.ts';
import { syntaxFindings } from './syntax.ts';

const KARGS_FOLDER = /\/usr\/lib\/bootc\/kargs\.d\b/;

/**
 * What is wrong with the Containerfile of a MachineOSConfig, in the order of its lines: what its builder would
 * refuse, and what would be missing on the machines without a word.
 */
export function lintContainerfile(content: string): readonly ContainerfileFinding[] {
  const instructions = parseContainerfile(content);
  const stages = stagesOf(instructions);
  const first = instructions.findIndex(({ keyword }) => keyword === 'FROM');
  const placed = placedStages(stages, instructions.slice(0, Math.max(first, 0)));
  const found = [
    ...instructions.flatMap(syntaxFindings),
    ...beginFindings(instructions),
    ...stageFindings(stages),
    ...stages
      .filter((stage) => isBuiltOn(stages, stage, 'configs'))
      .flatMap((stage) => placed.get(stage) ?? [])
      .flatMap(lostPathFindings),
    ...stages.flatMap((stage) => stage.instructions).flatMap(kargsFindings),
  ];
  return found.sort((a, b) => a.line - b.line);
}

function beginFindings(instructions: readonly Instruction[]): readonly ContainerfileFinding[] {
  if (instructions.some(({ keyword }) => !keywords.includes(keyword))) return [];
  const first = instructions.find(({ keyword }) => keyword !== 'ARG');
  if (first === undefined || first.keyword === 'FROM') return [];
  const advice = 'begin with FROM configs AS final';
  return [error('first-stage', first.line, `${first.keyword} stands before any FROM: ${advice}`)];
}

function stageFindings(stages: readonly Stage[]): readonly ContainerfileFinding[] {
  const last = stages.at(-1);
  if (last === undefined) {
    return [error('final-stage', 1, 'there is no stage: begin with FROM configs AS final')];
  }
  // A FROM that no builder understands has been told already.
  if (last.isMalformed) return [];
  if (!isBuiltOn(stages, last, 'configs')) {
    const problem = `the last stage is built on ${last.base}, so the MachineConfig of the pool is not in the image`;
    return [error('final-stage', last.line, `${problem}: write FROM configs AS final`)];
  }
  return [...nameFindings(last), ...checkFindings(last)];
}

function nameFindings({ name, base, line }: Stage): readonly ContainerfileFinding[] {
  if (name.toLowerCase() === 'final') return [];
  const found = name === '' ? 'without a name' : `called ${name}`;
  const advice = `write FROM ${base} AS final`;
  return [warning('final-stage', line, `the last stage is ${found}: ${advice}`)];
}

function checkFindings({ instructions }: Stage): readonly ContainerfileFinding[] {
  const changing = instructions.findLast(({ keyword }) => /^(?:RUN|COPY|ADD)$/.test(keyword));
  if (changing === undefined || changing.unterminated !== undefined) return [];
  if (changing.keyword === 'RUN' && endsWithCheck(commandsOf(changing))) return [];
  const advice = 'end with RUN ostree container commit, or RUN bootc container lint';
  const problem = `nothing checks the image after the last ${changing.keyword}`;
  return [warning('final-commit', changing.line, `${problem}: ${advice}`)];
}

function kargsFindings(instruction: Instruction): readonly ContainerfileFinding[] {
  const { keyword, text, line } = instruction;
  const isRun = keyword === 'RUN';
  const commands = isRun ? commandsOf(instruction) : [];
  const texts = isRun
    ? commands.flatMap(({ words, outputs }) => [...words, ...outputs])
    : [text].filter(() => /^(?:COPY|ADD|WORKDIR|VOLUME)$/.test(keyword));
  const advice = 'name it in spec.kernelArguments of a MachineConfig';
  if (texts.some((each) => KARGS_FOLDER.test(each))) {
    const problem =
      'kargs.d is read by bootc alone, and machines that rpm-ostree switches leave it';
    return [warning('kernel-arguments', line, `${problem}: ${advice}`)];
  }
  const isSetting = commands
    .map(programOf)
    .some(
      ([program, ...words]) =>
        program === 'grubby' || (program === 'rpm-ostree' && words.includes('kargs')),
    );
  if (!isSetting) return [];
  const problem = 'kernel arguments belong to a machine and not to an image';
  return [error('kernel-arguments', line, `${problem}: ${advice}`)];
}
