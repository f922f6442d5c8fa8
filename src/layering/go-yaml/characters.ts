/** Line breaks of YAML 1.1: CR, LF, NEL, LS, PS. */
export const isBreak = (character: string | undefined): boolean =>
  character !== undefined && /^[\r\n\u0085\u2028\u2029]$/.test(character);

/** A space or a tab. */
export const isBlank = (character: string | undefined): boolean =>
  character === ' ' || character === '\t';

/** A blank, a line break, or NUL. */
export const isBlankOrBreak = (character: string | undefined): boolean =>
  isBlank(character) || isBreak(character) || character === '\0';

/**
 * What the library writes as it is. Its ranges end at U+FFFD, so characters beyond the basic plane are
 * escaped, and so are tabs and carriage returns.
 */
export function isPrintable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0a || (code >= 0x20 && code <= 0x7e)) return true;
  return code >= 0xa0 && code <= 0xfffd && code !== 0xfeff;
}
