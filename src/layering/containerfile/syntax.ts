import { nearestName } from '../../lib/nearest.ts';
import { type ContainerfileFinding, error } from './finding.ts';
import { keywords } from './keywords.ts';
import type { Instruction } from './parse.ts';
import { fromWords } from './stages.ts';
import { behindFlags, pathArguments } from './words.ts';

/** Instructions that may stand alone. */
const ALONE = ['CMD', 'ENTRYPOINT'];

/** What a builder does not understand of an instruction, and why it stops before it builds anything. */
export function syntaxFindings(instruction: Instruction): readonly ContainerfileFinding[] {
  const { keyword, line, unterminated } = instruction;
  if (!keywords.includes(keyword)) {
    const near = nearestName(keyword, keywords);
    const advice = near === undefined ? 'see Containerfile(5)' : `write ${near}`;
    return [error('syntax', line, `${keyword} is no instruction of a Containerfile: ${advice}`)];
  }
  if (unterminated !== undefined) {
    const problem = `the here-document of this ${keyword} has no end`;
    return [error('syntax', line, `${problem}: write ${unterminated} on a line of its own`)];
  }
  const problem = argumentsProblem(instruction);
  return problem === undefined ? [] : [error('syntax', line, problem)];
}

function argumentsProblem({ keyword, text }: Instruction): string | undefined {
  if (keyword === 'FROM') return fromProblem(text);
  if (keyword === 'COPY' || keyword === 'ADD') {
    if (pathArguments(text).length >= 2) return undefined;
    return `${keyword} takes what is copied and where it goes: write ${keyword} SOURCE DESTINATION`;
  }
  if (behindFlags(text) !== '') return undefined;
  return ALONE.includes(keyword) ? undefined : `${keyword} says nothing: write what it is to do`;
}

function fromProblem(text: string): string | undefined {
  const words = fromWords(text);
  const isNamed = words.length === 3 && words[1]?.toUpperCase() === 'AS';
  if (words.length === 1 || isNamed) return undefined;
  const problem =
    words.length === 0 ? 'FROM names no image' : `FROM ${text.trim()} is not understood`;
  return `${problem}: write FROM IMAGE, or FROM IMAGE AS NAME`;
}
