/**
 * Cuts a stream of text into lines. Carriage return and line feed both end a line, because
 * programs that draw progress use the first; lines without content are left out.
 */
export function lineSplitter(tell: (line: string) => void): {
  readonly push: (text: string) => void;
  readonly end: () => void;
} {
  let pending = '';
  const flush = (line: string): void => {
    if (line.trim() !== '') tell(line);
  };
  return {
    push: (text) => {
      const lines = (pending + text).split(/[\r\n]+/);
      pending = (lines.pop() ?? '').slice(-longestLine);
      for (const line of lines) flush(line);
    },
    end: () => {
      flush(pending);
      pending = '';
    },
  };
}

/** A line without an end must not fill the memory. */
const longestLine = 64 * 1024;
