import cliTruncate from 'cli-truncate';
import stringWidth from 'string-width';
import { renderDuration } from '../../src/model/duration.ts';

/** How a chunk of text is shown. */
export type Tone = 'plain' | 'dim' | 'strong' | 'good' | 'bad' | 'busy';

/** A chunk of a line. */
export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** One line of the table. */
export type Line = readonly Span[];

/** What the table shows of one host. */
export interface Row {
  readonly host: string;
  readonly role: string;
  readonly stage: string;
  /** 0 to 100. */
  readonly percent: number;
  readonly doing: string;
  readonly seconds: number;
  /** Milliseconds to the end of what it does, as far as that is known. */
  readonly left?: number | undefined;
  readonly tone: Tone;
}

/** What the table shows of a run. */
export interface Table {
  readonly title: string;
  readonly cluster: string;
  readonly seconds: number;
  readonly rows: readonly Row[];
  /** What continues beside the hosts, in a line of its own. */
  readonly beside?: string | undefined;
}

const span = (text: string, tone: Tone = 'plain'): Span => ({ text, tone });

/** Longest stage, `Waiting for control plane`, cut by a few letters. */
const wholeStage = 22;
/** `100 % `. */
const fixed = 6;
const longestBar = 20;
/** Cells for what a host does without which there is no bar. */
const leastDoing = 24;

/** The cells of each column; 0 where it is left out. The last one takes the rest. */
function columnsFor(rows: readonly Row[], width: number) {
  const longest = (text: (row: Row) => string, least: number): number =>
    Math.max(least, ...rows.map((row) => stringWidth(text(row))));
  const isNarrow = width < 80;
  const columns = {
    host: Math.min(
      longest(({ host }) => host, 4),
      isNarrow ? 10 : 24,
    ),
    role: isNarrow ? 0 : longest(({ role }) => role, 4),
    stage: width < 100 ? 16 : wholeStage,
    seconds: isNarrow ? 0 : 6,
    left: 9,
  };
  const taken = Object.values(columns).reduce((sum, cells) => sum + cells + Math.sign(cells), 0);
  const rest = width - taken - fixed;
  const bar = rest - longestBar > leastDoing ? longestBar : 0;
  return { ...columns, bar, doing: Math.max(1, rest - bar - Math.sign(bar)) };
}

/** Renders a table in a width of cells; no line is wider. */
export function renderTable(table: Table, width: number): readonly Line[] {
  const columns = columnsFor(table.rows, width);
  const head = [
    ...[cell('host', columns.host), cell('role', columns.role), cell('stage', columns.stage)],
    ...[
      cell('', columns.bar),
      ' '.repeat(fixed),
      cell('', columns.seconds),
      cell('left', columns.left),
    ],
  ];
  const state = `   cluster ${table.cluster}   ${table.seconds.toFixed(0)} s`;
  const title = cliTruncate(table.title, Math.max(1, width - stringWidth(state)));
  return [
    [span(title, 'strong'), span(cliTruncate(state, width - stringWidth(title)), 'dim')],
    [span(cliTruncate(head.join('').trimEnd(), width), 'dim')],
    ...table.rows.map((row) => cutLine(renderRow(row, columns), width)),
    ...(table.beside === undefined ? [] : [[span(cutText(table.beside, width), 'dim')]]),
  ];
}

function renderRow(row: Row, columns: ReturnType<typeof columnsFor>): Line {
  const { host, role, stage, percent, seconds, left, tone } = row;
  const filled = Math.round((percent / 100) * columns.bar);
  const doing = row.doing.replaceAll(/\s+/g, ' ');
  return [
    span(cell(host, columns.host), 'strong'),
    span(cell(role, columns.role), 'dim'),
    span(cell(stage, columns.stage), tone),
    span('█'.repeat(filled), tone === 'plain' ? 'busy' : tone),
    span('░'.repeat(columns.bar - filled), 'dim'),
    span(`${columns.bar === 0 ? '' : ' '}${String(percent).padStart(3)} % `),
    span(cell(`${seconds.toFixed(0).padStart(4)} s`, columns.seconds), 'dim'),
    span(cell(left === undefined ? '' : renderDuration(left), columns.left)),
    span(cutText(doing, columns.doing), tone),
  ];
}

/** A line in a terminal that is narrower than its columns are. */
function cutLine(line: Line, width: number): Line {
  let rest = width;
  return line.map(({ text, tone }) => {
    const cut = span(cliTruncate(text, Math.max(0, rest)), tone);
    rest -= stringWidth(cut.text);
    return cut;
  });
}

/** A text that ends between its words where it is too long. */
const cutText = (text: string, cells: number): string => {
  const cut = cliTruncate(text, cells);
  return cut === text ? text : cut.replace(/(?<=\S )\S+…$/, '…');
};

/** A text in a column, with the blank behind it; nothing where the column is left out. */
const cell = (text: string, cells: number): string => (cells === 0 ? '' : `${pad(text, cells)} `);

function pad(text: string, cells: number): string {
  const cut = cliTruncate(text, cells);
  return cut + ' '.repeat(cells - stringWidth(cut));
}
