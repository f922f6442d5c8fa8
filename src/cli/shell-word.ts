/** A text in quotes, as a shell takes it for one word whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A word as it is pasted into a shell: in quotes where the shell would read more than its letters. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);
