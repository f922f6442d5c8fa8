import { HiddenText } from '../model/secret.ts';
import { shownText, shownUrl } from './shown-url.ts';

/**
 * An address that was read: it prints as what may be shown of it, wherever a text of it is made.
 * User, password and query come out by `reveal` alone, which is called where a request or the
 * environment of a command is made.
 */
export class SecretUrl extends HiddenText {
  /** As it may be shown, with a mark where something is left out. */
  marked(): string {
    return shownText(this.reveal());
  }

  toString(): string {
    return shownUrl(this.reveal());
  }

  toJSON(): string {
    return this.toString();
  }
}
