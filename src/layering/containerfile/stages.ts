import type { Instruction } from './parse.ts';

/** A stage of a Containerfile. */
export interface Stage {
  /** What it is built from: an image or an earlier stage. */
  readonly base: string;
  /** Empty when it has none. */
  readonly name: string;
  /** Whether no builder understands its FROM. */
  readonly isMalformed: boolean;
  /** The line of its FROM. */
  readonly line: number;
  readonly instructions: readonly Instruction[];
}

/** The stages in their order. Instructions before the first FROM belong to none. */
export function stagesOf(instructions: readonly Instruction[]): readonly Stage[] {
  const starts = instructions.flatMap(({ keyword }, index) => (keyword === 'FROM' ? [index] : []));
  return starts.map((start, at) => {
    const from = instructions[start];
    const words = fromWords(from?.text ?? '');
    const [base = '', as = '', name = ''] = words;
    const isNamed = words.length === 3 && as.toUpperCase() === 'AS';
    return {
      base,
      name: isNamed ? name : '',
      isMalformed: words.length !== 1 && !isNamed,
      line: from?.line ?? 1,
      instructions: instructions.slice(start + 1, starts[at + 1]),
    };
  });
}

/** What a FROM says behind its flags: an image, and a name behind `AS`. */
export const fromWords = (text: string): readonly string[] =>
  text.split(/\s+/).filter((word) => word !== '' && !word.startsWith('--'));

/** The earlier stage that a stage is built on, if it is one; names know no case. */
export function parentOf(stages: readonly Stage[], stage: Stage): Stage | undefined {
  const base = stage.base.toLowerCase();
  const earlier = stages.slice(0, stages.indexOf(stage));
  return earlier.findLast(({ name }) => name !== '' && name.toLowerCase() === base);
}

/** Whether a stage goes back to a stage of that name, itself included. */
export function isBuiltOn(stages: readonly Stage[], stage: Stage, ancestor: string): boolean {
  let at: Stage | undefined = stage;
  while (at !== undefined) {
    if (at.base.toLowerCase() === ancestor.toLowerCase()) return true;
    at = parentOf(stages, at);
  }
  return false;
}
