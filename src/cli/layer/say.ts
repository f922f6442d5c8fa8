/** What a command tells beside its answer, a line on standard error; what would steer a terminal becomes a blank. */
export const say = (kind: 'note' | 'warning', text: string): void => {
  process.stderr.write(`${kind}: ${text.replaceAll(/\s*[\p{Cc}\u2028\u2029]+\s*/gu, ' ')}\n`);
};
