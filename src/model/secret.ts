import { inspect } from 'node:util';

/** The text that replaces a secret in any output. */
export const MASK = '***';

/** A text that only `reveal` returns; a conversion to a string prints another text. */
export abstract class HiddenText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself. */
  reveal(): string {
    return this.#value;
  }

  /** Whether the text is empty. */
  get isEmpty(): boolean {
    return this.#value === '';
  }

  abstract toString(): string;

  [inspect.custom](): string {
    return this.toString();
  }
}

/**
 * A value that must not be visible: it prints as `***`, and its serialisation throws, so that it
 * cannot reach a log, the journal or a bundle by accident. Call `reveal` only where the value is
 * sent.
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
