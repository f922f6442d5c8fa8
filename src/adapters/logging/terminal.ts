/** What a terminal is written to with. */
export interface TerminalStream {
  readonly columns?: number;
  readonly write: (text: string) => unknown;
}

/** A terminal with lines that stay and, below them, one that shows the present state. */
export interface Terminal {
  readonly line: (text: string) => void;
  readonly status: (text: string) => void;
  /** Takes the state away. */
  readonly close: () => void;
}

const clearLine = '\r\u001b[K';

/** Opens a terminal. */
export function openTerminal(stream: TerminalStream): Terminal {
  let shown = '';
  const draw = (): void => {
    // Some terminals say 0 when they do not know how wide they are.
    const columns = stream.columns === undefined || stream.columns === 0 ? 80 : stream.columns;
    if (shown !== '') stream.write(shown.slice(0, columns - 1));
  };
  return {
    line: (text) => {
      stream.write(`${clearLine}${text}\n`);
      draw();
    },
    status: (text) => {
      shown = text;
      stream.write(clearLine);
      draw();
    },
    close: () => {
      shown = '';
      stream.write(clearLine);
    },
  };
}
