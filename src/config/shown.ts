import { MASK, Secret } from '../model/secret.ts';

/** A text as it may be shown: the user and the password of a URL are masked. */
export const shownText = (text: string): string =>
  text.replaceAll(/(:\/\/)[^/@\s]*@/g, `$1${MASK}@`);

/** The value of a setting as it may be shown, secrets masked; JSON, except plain text. */
export function shownValue(value: unknown): string {
  if (value instanceof Secret) return value.isEmpty ? '(empty)' : MASK;
  if (value === undefined || value === '') return '(not set)';
  if (typeof value === 'string') return shownText(value);
  return shownText(JSON.stringify(value));
}
