/** A block of a guide with which a test does something. */
export interface Block {
  /** Commands that are run, what they print, or a file that the reader writes. */
  readonly kind: 'run' | 'output' | 'file';
  readonly text: string;
  /** Line of the guide on which it begins. */
  readonly line: number;
  /** What commands end with. */
  readonly exitCode: number;
  /** Where a file is written. */
  readonly path: string;
}

const marks = /^(?:(run)(?: exit=(\d+))?|(output)|file=(\S+))$/;

/**
 * The blocks of a guide that say behind their language what they are: `sh run`, `sh run exit=2`, `text output`,
 * `yaml file=NAME`. All others are only shown.
 * @throws RangeError for another word there
 */
export function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```\w+ (.+)\n([^]*?)^```$/gm)].map((fence) => {
    const [, mark = '', text = ''] = fence;
    const line = markdown.slice(0, fence.index).split('\n').length;
    const [whole, run, exitCode = '0', output, path = ''] = marks.exec(mark) ?? [];
    if (whole === undefined) throw new RangeError(`line ${line}: unknown mark: ${mark}`);
    const kind = run ?? output ?? 'file';
    return { kind: kind as Block['kind'], text, line, exitCode: Number(exitCode), path };
  });
}

/**
 * Whether a text is what a guide shows, line by line. A number stands for any number, a time for any time, blanks for any
 * blanks, `…` for any text; a line that is `…` alone stands for any lines.
 */
export function isShown(shown: string, printed: string): boolean {
  const pattern = shown.trimEnd().split('\n').map(linePattern).join('');
  return new RegExp(`^${pattern}$`).test(`${printed.trimEnd()}\n`);
}

const time = String.raw`\d+ (?:ms|s|min|h)\b`;

/** What stands for more than itself. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`^${time}(?: ${time})*$`), `${time}(?: ${time})*`],
  [/^\d/, String.raw`\d+`],
  [/^ /, ' +'],
  [/^…/, '.*'],
];

function linePattern(line: string): string {
  if (line.trim() === '…') return '(?:.*\n)*?';
  const parts = new RegExp(String.raw`${time}(?: ${time})*|\d+| +|…|[.*+?^\${}()|[\]\\]`, 'g');
  const wider = (part: string): string =>
    patterns.find(([known]) => known.test(part))?.[1] ?? `\\${part}`;
  return `${line.trimEnd().replaceAll(parts, wider)} *\n`;
}
