import { styleText } from 'node:util';
import cliTruncate from 'cli-truncate';
import { createLogUpdate } from 'log-update';
import { type Line, renderTable, type ShownStage, tableOf, type Tone } from './table.ts';

const DRAW_EVERY_MILLIS = 100;

/** How long a line may be where there is no terminal that says it. */
const PLAIN_COLUMNS = 100;

const colours: Readonly<Record<Tone, Parameters<typeof styleText>[0]>> = {
  plain: 'none',
  dim: 'dim',
  strong: 'bold',
  good: 'green',
  bad: 'red',
  busy: 'cyan',
};

/** Shows a play while it goes on: a live table on a terminal, else a line for each change. */
export const watchOn =
  (output: NodeJS.WriteStream) =>
  (stage: ShownStage): (() => void) =>
    output.isTTY ? drawTable(stage, output) : tellChanges(stage, output);

function drawTable(stage: ShownStage, output: NodeJS.WriteStream): () => void {
  const screen = createLogUpdate(output);
  const coloured = (line: Line): string =>
    line.map(({ text, tone }) => styleText(colours[tone], text, { stream: output })).join('');
  const draw = (): void => {
    const lines = renderTable(tableOf(stage, Date.now()), output.columns);
    screen(lines.map(coloured).join('\n'));
  };
  draw();
  const timer = setInterval(draw, DRAW_EVERY_MILLIS);
  return () => {
    clearInterval(timer);
    draw();
    screen.done();
  };
}

/** Where a line stands for each change, a percentage is none. */
const withoutPercent = (doing: string): string =>
  doing.replaceAll(/\s+/g, ' ').replace(/^[^;]*: \d+ %; /, '');

function tellChanges(stage: ShownStage, output: NodeJS.WriteStream): () => void {
  const told = new Map<string, string>();
  const tellOf = (what: string, line: string): void => {
    if (told.get(what) === line) return;
    told.set(what, line);
    const seconds = ((Date.now() - stage.startedAt) / 1000).toFixed(1);
    output.write(`${cliTruncate(`${seconds.padStart(6)} s  ${line}`, PLAIN_COLUMNS)}\n`);
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
