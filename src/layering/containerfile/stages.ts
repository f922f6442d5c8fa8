import type { Instruction } from './parse.ts';

/** A stage of a Containerfile. */
export interface Stage {
  /** What it is built from: an image or an earlier stage. */
  readonly base: string;
  /** Empty when it has none. */
  readonly name: string;
  /** The line of its FROM. */
  readonly line: number;
  readonly instructions: readonly Instruction[];
}

/** The stages in their order. Instructions before the first FROM belong to none. */
export function stagesOf(instructions: readonly Instruction[]): readonly Stage[] {
  const starts = instructions.flatMap(({ keyword }, index) => (keyword === 'FROM' ? [index] : []));
  return starts.map((start, at) => {
    const from = instructions[start];
    const words = (from?.text ?? '').split(/\s+/).filter((word) => !word.startsWith('--'));
    const [base = '', as = '', name = ''] = words;
    return {
      base,
      name: as.toUpperCase() === 'AS' ? name : '',
      line: from?.line ?? 1,
      instructions: instructions.slice(start + 1, starts[at + 1]),
    };
  });
}

/** Whether a stage goes back to a stage of that name, itself included; names know no case. */
export function isBuiltOn(stages: readonly Stage[], stage: Stage, ancestor: string): boolean {
  const wanted = ancestor.toLowerCase();
  let at: Stage | undefined = stage;
  let before = stages.indexOf(stage);
  while (at !== undefined) {
    const base: string = at.base.toLowerCase();
    if (base === wanted) return true;
    const earlier = stages.slice(0, before);
    at = earlier.findLast(({ name }) => name.toLowerCase() === base);
    before = at === undefined ? 0 : stages.indexOf(at);
  }
  return false;
}
