import { inspect } from 'node:util';

/** What a secret looks like wherever it is printed. */
export const MASK = '***';

/**
 * A value that must not be seen: it prints as `***`, and serialising it throws, so that it can
 * reach neither a log, nor the journal, nor a bundle by accident. `reveal` is called only where
 * the value is put on the wire.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. */
  reveal(): string {
    return this.#value;
  }

  /** Whether there is anything to hide. */
  get isEmpty(): boolean {
    return this.#value === '';
  }

  toString(): string {
    return MASK;
  }

  /** @throws TypeError always: a secret has no JSON form. */
  toJSON(): never {
    throw new TypeError('a secret must not be serialised');
  }

  [inspect.custom](): string {
    return MASK;
  }
}
