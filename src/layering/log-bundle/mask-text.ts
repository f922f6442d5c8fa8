import { MASK } from '../../model/secret.ts';

/** What a secret looks like that nobody told us of. Each begins with fixed letters: logs are long. */
const looksSecret: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g, MASK],
  [/:\/\/[^\s/@"']{1,512}@/g, `://${MASK}@`],
  [/\beyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?/g, MASK],
  [/\b(Basic|Bearer)[ \t]+[\w+/=.~-]{6,}/gi, `$1 ${MASK}`],
  [/\$(?:1|2[aby]|5|6|7|y)\$[./\w$=,]{20,}/g, MASK],
  [
    /(password|passwd|passphrase|token|secret|api[-_]?key|secret[-_]key|\bauth(?:orization)?)(\\?["']?[ \t]{0,9}[:=][ \t]{0,9})(?!(?:Basic|Bearer)\b)(\\?"[^"\n]*"|'[^'\n]*'|[^\s,;}\]]+)/gi,
    `$1$2${MASK}`,
  ],
];

/**
 * A text without what looks like a secret: keys, passwords in addresses, tokens, hashes of passwords, and what
 * follows the name of one. It is the second net: secrets that are known are taken out by their value.
 */
export const withoutSecretLooks = (text: string): string =>
  looksSecret.reduce((masked, [pattern, instead]) => masked.replace(pattern, instead), text);
