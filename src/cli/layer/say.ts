import { oneLine } from '../one-line.ts';

/** What a command tells beside its answer, a line on standard error. */
export const say = (kind: 'note' | 'warning', text: string): void => {
  process.stderr.write(`${kind}: ${oneLine(text)}\n`);
};
