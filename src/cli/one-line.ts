/** A text in one line: it may quote what stands in files, and line breaks and what would steer a terminal become blanks. */
export const oneLine = (text: string): string =>
  text.replaceAll(/\s*[\p{Cc}\u2028\u2029]+\s*/gu, ' ');
