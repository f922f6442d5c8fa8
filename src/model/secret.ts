import { inspect } from 'node:util';

/** What a secret looks like wherever it is printed. */
export const MASK = '***';

/**
 * A text that comes out by `reveal` alone, and is printed in another way wherever a text of it is
 * made.
 */
export abstract class HiddenText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself. */
  reveal(): string {
    return this.#value;
  }

  /** Whether there is anything to hide. */
  get isEmpty(): boolean {
    return this.#value === '';
  }

  abstract toString(): string;

  [inspect.custom](): string {
    return this.toString();
  }
}

/**
 * A value that must not be seen: it prints as `***`, and serialising it throws, so that it can
 * reach neither a log, nor the journal, nor a bundle by accident. `reveal` is called only where
 * the value is put on the wire.
 */
export class Secret extends HiddenText {
  toString(): string {
    return MASK;
  }

  /** @throws TypeError always: a secret has no JSON form. */
  toJSON(): never {
    throw new TypeError('a secret must not be serialised');
  }
}
