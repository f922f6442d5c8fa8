/** Keeps the last part of a stream of text, so that a chatty command cannot fill the memory. */
export interface OutputRing {
  readonly push: (text: string) => void;
  readonly text: () => string;
}

/** A ring for so many characters; a cut beginning is dropped up to the next line. */
export function outputRing(capacity: number): OutputRing {
  let kept: string[] = [];
  let size = 0;
  let isCut = false;
  const compact = (): void => {
    const all = kept.join('');
    isCut ||= all.length > capacity;
    kept = [all.slice(-capacity)];
    size = Math.min(size, capacity);
  };
  return {
    push: (text) => {
      kept.push(text);
      size += text.length;
      if (size > capacity * 2) compact();
    },
    text: () => {
      if (size > capacity) compact();
      const all = kept.join('');
      return isCut ? all.slice(all.indexOf('\n') + 1) : all;
    },
  };
}
