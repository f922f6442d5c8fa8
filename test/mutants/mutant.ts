/** A fault put into the sources on purpose: the tests of its file must notice it. */
export interface Mutant {
  /** What goes wrong with it. */
  readonly means: string;
  /** Text that stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
}

/** Mutants by the file that they change, from the top of the tree. */
export type MutantsByFile = Readonly<Record<string, readonly Mutant[]>>;
