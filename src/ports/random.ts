/** Chance, so that tests can take it away. */
export interface Random {
  /** A version 4 UUID. */
  readonly uuid: () => string;
  /** A number in [low, high). */
  readonly between: (low: number, high: number) => number;
  /** So many bytes that nobody can guess. */
  readonly bytes: (count: number) => Uint8Array;
}
