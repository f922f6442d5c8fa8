import { parseContainerfile } from '../containerfile/parse.ts';

/** A line by which buildah and podman begin an instruction: `[2/3] STEP 4/9: RUN …`, or without the stage. */
const STEP = /^(?:\[\d+\/\d+\] )?STEP (?<at>\d+)(?:\/(?<of>\d+))?: (?<text>.+)$/;

/** How far a build is. */
export interface BuildStep {
  /** From 1, over all stages. */
  readonly at: number;
  readonly of: number;
  /** The instruction. */
  readonly text: string;
}

/** Counts the steps of a build over its stages, from the lines that it prints. */
export function buildSteps(containerfile: string): (line: string) => BuildStep | undefined {
  const of = parseContainerfile(containerfile).length;
  let at = 0;
  return (line) => {
    const text = STEP.exec(line.trim())?.groups?.['text'];
    if (text === undefined) return undefined;
    at = Math.min(at + 1, of);
    return { at, of, text };
  };
}
