/** The stream of a terminal. */
export interface TerminalStream {
  readonly columns?: number;
  readonly write: (text: string) => unknown;
}

/** A terminal with permanent lines, and below them one line with the present state. */
export interface Terminal {
  readonly line: (text: string) => void;
  readonly status: (text: string) => void;
  /** Removes the state line. */
  readonly close: () => void;
}

const clearLine = '\r\u001b[K';

/** Opens a terminal. */
export function openTerminal(stream: TerminalStream): Terminal {
  let shown = '';
  const draw = (): void => {
    // Some terminals report 0 if they do not know their width.
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
