import { nearestName } from '../../lib/nearest.ts';
import { type Instruction, parseContainerfile } from './parse.ts';
import { lostPathFindings } from './paths.ts';
import { isBuiltOn, type Stage, stagesOf } from './stages.ts';
import { type ContainerfileFinding, error, warning } from './finding.ts';

const KEYWORDS = [
  ...['ADD', 'ARG', 'CMD', 'COPY', 'ENTRYPOINT', 'ENV', 'EXPOSE', 'FROM', 'HEALTHCHECK', 'LABEL'],
  ...['MAINTAINER', 'ONBUILD', 'RUN', 'SHELL', 'STOPSIGNAL', 'USER', 'VOLUME', 'WORKDIR'],
];

const COMMIT = /\bostree\s+container\s+commit\b|\bbootc\s+container\s+lint\b/;
const KARGS_FOLDER = /\/usr\/lib\/bootc\/kargs\.d\b/;
const KARGS_COMMAND = /\brpm-ostree\s+kargs\b|\bgrubby\b/;

/**
 * What is wrong with the Containerfile of a MachineOSConfig, in the order of its lines: what its builder would
 * refuse, and what would be missing on the machines without a word.
 */
export function lintContainerfile(content: string): readonly ContainerfileFinding[] {
  const instructions = parseContainerfile(content);
  const stages = stagesOf(instructions);
  const found = [
    ...syntaxFindings(instructions),
    ...stageFindings(stages),
    ...stages.flatMap((stage) => [
      ...(isBuiltOn(stages, stage, 'configs') ? lostPathFindings(stage.instructions) : []),
      ...stage.instructions.flatMap(kargsFindings),
    ]),
  ];
  return found.sort((a, b) => a.line - b.line);
}

function syntaxFindings(instructions: readonly Instruction[]): readonly ContainerfileFinding[] {
  const unknown = instructions.flatMap(({ keyword, line }) => {
    if (KEYWORDS.includes(keyword)) return [];
    const near = nearestName(keyword, KEYWORDS);
    const advice = near === undefined ? 'see Containerfile(5)' : `write ${near}`;
    return [error('syntax', line, `${keyword} is no instruction of a Containerfile: ${advice}`)];
  });
  const first = instructions.find(({ keyword }) => keyword !== 'ARG');
  if (first === undefined || first.keyword === 'FROM' || unknown.length > 0) return unknown;
  const advice = 'begin with FROM configs AS final';
  return [error('first-stage', first.line, `${first.keyword} stands before any FROM: ${advice}`)];
}

function stageFindings(stages: readonly Stage[]): readonly ContainerfileFinding[] {
  const last = stages.at(-1);
  if (last === undefined) {
    return [error('final-stage', 1, 'there is no stage: begin with FROM configs AS final')];
  }
  if (!isBuiltOn(stages, last, 'configs')) {
    const problem = `the last stage is built on ${last.base}, so the MachineConfig of the pool is not in the image`;
    return [error('final-stage', last.line, `${problem}: write FROM configs AS final`)];
  }
  const findings: ContainerfileFinding[] = [];
  if (last.name.toLowerCase() !== 'final') {
    const name = last.name === '' ? 'without a name' : `called ${last.name}`;
    const advice = `write FROM ${last.base} AS final`;
    findings.push(warning('final-stage', last.line, `the last stage is ${name}: ${advice}`));
  }
  const changing = last.instructions.findLast(({ keyword }) => /^(?:RUN|COPY|ADD)$/.test(keyword));
  const isCommitted =
    changing?.keyword === 'RUN' && COMMIT.test([changing.text, ...changing.bodies].join('\n'));
  if (changing !== undefined && !isCommitted) {
    const advice = 'end with RUN ostree container commit, or RUN bootc container lint';
    const problem = `nothing checks the image after the last ${changing.keyword}`;
    findings.push(warning('final-commit', changing.line, `${problem}: ${advice}`));
  }
  return findings;
}

function kargsFindings({
  keyword,
  text,
  bodies,
  line,
}: Instruction): readonly ContainerfileFinding[] {
  const whole = [text, ...bodies].join('\n');
  const advice = 'name it in spec.kernelArguments of a MachineConfig';
  if (KARGS_FOLDER.test(whole)) {
    const problem =
      'kargs.d is read by bootc alone, and machines that rpm-ostree switches leave it';
    return [warning('kernel-arguments', line, `${problem}: ${advice}`)];
  }
  if (keyword !== 'RUN' || !KARGS_COMMAND.test(whole)) return [];
  const problem = 'kernel arguments belong to a machine and not to an image';
  return [error('kernel-arguments', line, `${problem}: ${advice}`)];
}
