/** Randomness, which tests can replace. */
export interface Random {
  /** A version 4 UUID. */
  readonly uuid: () => string;
  /** A number in [low, high). */
  readonly between: (low: number, high: number) => number;
  /** A number of unpredictable bytes. */
  readonly bytes: (count: number) => Uint8Array;
}
