/** A block of a guide. */
export interface Block {
  /**
   * Commands that are run, their output, a file that the reader writes, or a block that is only
   * shown.
   */
  readonly kind: 'run' | 'output' | 'file' | 'shown';
  readonly text: string;
  /** The language after the fence, such as `sh`. */
  readonly language: string;
  /** Line of the guide on which it begins. */
  readonly line: number;
  /** The exit code of the commands. */
  readonly exitCode: number;
  /** Where a file is written. */
  readonly path: string;
  /**
   * The suite that runs the commands, where it is not the one that follows the guide; an output's
   * is that of its commands.
   */
  readonly suite: string;
}

const marks = /^(?:(run)(?: in=(\w+))?(?: exit=(\d+))?|(output)|file=(\S+))$/;

/**
 * The blocks of a guide. Those with which a test does something say behind their language what they
 * are: `sh run`, `sh run exit=2`, `sh run in=image`, `text output`, `yaml file=NAME`.
 * @throws RangeError for another word there
 */
export function blocksOf(markdown: string): readonly Block[] {
  let lastSuite = '';
  return [...markdown.matchAll(/^( *)```(\w*)(?: (.+))?\n([^]*?)^\1```$/gm)].map((fence) => {
    const [, , , mark, text = ''] = fence;
    const language = String(fence[2]);
    const line = markdown.slice(0, fence.index).split('\n').length;
    if (mark === undefined)
      return { kind: 'shown', text, language, line, exitCode: 0, path: '', suite: '' } as const;
    const [whole, run, suite = '', exitCode = '0', output, path = ''] = marks.exec(mark) ?? [];
    if (whole === undefined) throw new RangeError(`line ${line}: unknown mark: ${mark}`);
    if (run !== undefined) lastSuite = suite;
    const kind = (run ?? output ?? 'file') as Block['kind'];
    const at = kind === 'file' ? '' : lastSuite;
    return { kind, text, language, line, exitCode: Number(exitCode), path, suite: at };
  });
}

/** The commands of a block, each in one line, without prompt and comment. */
export const commandsIn = (text: string): readonly string[] =>
  text
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^\$ /, '')
        .replace(/ +#.*$/, ''),
    )
    .filter(Boolean);

/** The parts that a page only shows: each command of its shells, and every other block whole. */
export const shownIn = (markdown: string): readonly Pick<Block, 'text' | 'line'>[] =>
  blocksOf(markdown)
    .filter(({ kind }) => kind === 'shown')
    .flatMap(({ text, language, line }) =>
      ['sh', 'console'].includes(language)
        ? commandsIn(text).map((command) => ({ text: command, line }))
        : [{ text, line }],
    );

/**
 * Whether a text matches a guide, line by line. A number stands for any number, a time for any
 * time, blanks for any blanks, `…` for any text; a line that is `…` alone stands for any lines.
 */
export function isShown(shown: string, printed: string): boolean {
  const pattern = shown.trimEnd().split('\n').map(linePattern).join('');
  // Long runs of blanks beside `…` can be divided in too many ways.
  return new RegExp(`^${pattern}$`).test(`${printed.trimEnd().replaceAll(/ +/g, ' ')}\n`);
}

const time = String.raw`\d+ (?:ms|s|min|h)\b`;

/** Tokens that match other text. */
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
