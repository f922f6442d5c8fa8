import { type Line, renderTable, type ShownStage, tableOf, type Tone } from './table.ts';

/** Where the lab shows how it goes. */
export interface Output {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly columns: number;
}

const DRAW_EVERY_MILLIS = 100;

const colours: Readonly<Record<Tone, string>> = {
  plain: '',
  dim: '\x1b[2m',
  strong: '\x1b[1m',
  good: '\x1b[32m',
  bad: '\x1b[31m',
  busy: '\x1b[36m',
};

const coloured = (line: Line): string =>
  line
    .map(({ text, tone }) => (tone === 'plain' ? text : `${colours[tone]}${text}\x1b[0m`))
    .join('');

/** Shows a play while it goes on: a live table on a terminal, else a line for each change. */
export const watchOn =
  (output: Output) =>
  (stage: ShownStage): (() => void) =>
    output.isTerminal ? drawTable(stage, output) : tellChanges(stage, output);

function drawTable(stage: ShownStage, { write, columns }: Output): () => void {
  let height = 0;
  const draw = (): void => {
    const lines = renderTable(tableOf(stage, Date.now()), columns);
    const up = height === 0 ? '' : `\x1b[${height}A`;
    write(`${up}${lines.map((line) => `\x1b[2K${coloured(line)}\n`).join('')}`);
    height = lines.length;
  };
  write('\x1b[?25l');
  draw();
  const timer = setInterval(draw, DRAW_EVERY_MILLIS);
  return () => {
    clearInterval(timer);
    draw();
    write('\x1b[?25h');
  };
}

/** Where a line stands for each change, a percentage is none. */
const withoutPercent = (doing: string): string =>
  doing.replaceAll(/\s+/g, ' ').replace(/^[^;]*: \d+ %; /, '');

function tellChanges(stage: ShownStage, { write }: Output): () => void {
  const told = new Map<string, string>();
  const tellOf = (what: string, line: string): void => {
    if (told.get(what) === line) return;
    told.set(what, line);
    const seconds = ((Date.now() - stage.startedAt) / 1000).toFixed(1);
    write(`${seconds.padStart(6)} s  ${line}\n`);
  };
  const tell = (): void => {
    const { rows, beside } = tableOf(stage, Date.now());
    for (const { host, role, stage: at, doing, tone } of rows) {
      const more = tone === 'busy' || tone === 'bad' ? `, ${withoutPercent(doing)}` : '';
      if (at !== '') tellOf(host, `${host} ${role}: ${at}${more}`);
    }
    if (beside !== undefined) tellOf('', beside);
  };
  const timer = setInterval(tell, DRAW_EVERY_MILLIS);
  return () => {
    clearInterval(timer);
    tell();
  };
}
