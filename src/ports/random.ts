/** Chance, so that tests can take it away. */
export interface Random {
  /** A version 4 UUID. */
  readonly uuid: () => string;
  /** A number in [low, high). */
  readonly between: (low: number, high: number) => number;
}
