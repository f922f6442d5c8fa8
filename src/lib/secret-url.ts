import { HiddenText } from '../model/secret.ts';
import { shownText, shownUrl } from './shown-url.ts';

/**
 * A URL that prints only its harmless parts, in every conversion to text. Only `reveal` returns
 * user, password and query; it is called to make a request or the environment of a command.
 */
export class SecretUrl extends HiddenText {
  /** The harmless parts, with a mark for each omitted part. */
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
