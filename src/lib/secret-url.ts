import { inspect } from 'node:util';
import { shownText, shownUrl } from './shown-url.ts';

/**
 * An address that was read: it prints as what may be shown of it, wherever a text of it is made. User, password and query
 * come out by `reveal` alone, which is called where a request or the environment of a command is made.
 */
export class SecretUrl {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The whole address. */
  reveal(): string {
    return this.#value;
  }

  /** Whether there is none. */
  get isEmpty(): boolean {
    return this.#value === '';
  }

  /** As it may be shown, with a mark where something is left out. */
  marked(): string {
    return shownText(this.#value);
  }

  toString(): string {
    return shownUrl(this.#value);
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
