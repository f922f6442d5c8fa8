/** A file that is put into a guest. */
export interface PlacedFile {
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array | string;
}

/** A word of Bash that means this text and nothing else. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A line of Bash that writes a file with its mode, and the folders on the way to it. */
export function placeFile({ path, mode, content }: PlacedFile): string {
  const text = Buffer.from(content).toString('base64');
  const octal = mode.toString(8).padStart(4, '0');
  return `base64 --decode <<< ${quoted(text)} | install -D -m ${octal} /dev/stdin ${quoted(path)}`;
}
