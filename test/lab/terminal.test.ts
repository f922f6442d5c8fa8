import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { Terminal } from '@xterm/headless';
import { describe, expect, it } from 'vitest';

const probe = new URL('../process/probes/lab-table.ts', import.meta.url).pathname;
const seconds = '1.5';

interface Screen {
  /** The lines that are seen at the end, without those that are empty. */
  readonly lines: readonly string[];
  /** All that was written. */
  readonly output: string;
}

const clear = '\u001b[2J\u001b[H';

/** Shows a made-up run in a real pseudo terminal; its columns change once where two numbers are given. */
async function screenOf(
  columns: readonly [number, number?],
  env: Readonly<Record<string, string>> = {},
): Promise<Screen> {
  const [first, second] = columns;
  const words = [process.execPath, probe, seconds, ...(second === undefined ? [] : [second])];
  const command = `stty cols ${first} rows 40; ${words.map((word) => `'${word}'`).join(' ')}`;
  const child = spawn(
    'script',
    ['--quiet', '--flush', '--return', '--command', command, '/dev/null'],
    {
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const output = await text(child.stdout);
  const terminal = new Terminal({ cols: first, rows: 40, allowProposedApi: true });
  const write = (data: string): Promise<void> =>
    new Promise((resolve) => {
      terminal.write(data, resolve);
    });
  const at = output.indexOf(clear);
  if (at >= 0 && second !== undefined) {
    await write(output.slice(0, at));
    terminal.resize(second, 40);
  }
  await write(at >= 0 ? output.slice(at) : output);
  const { active } = terminal.buffer;
  const lines = Array.from({ length: active.length }, (_, index) => active.getLine(index));
  return {
    output,
    lines: lines
      .flatMap((line) => line?.translateToString(true) ?? '')
      .filter((line) => line !== ''),
  };
}

const rowsOf = ({ lines }: Screen): readonly string[] =>
  lines.filter((line) => /^(bootstrap|m1 |w1 )/.test(line));

describe('the table of the lab in a terminal', () => {
  it.each<[string, readonly [number, number?]]>([
    ['60 columns', [60]],
    ['80 columns', [80]],
    ['160 columns', [160]],
    ['60 columns that become 160', [60, 160]],
    ['160 columns that become 60', [160, 60]],
  ])('has a line for each host in %s, and nothing twice', async (_, columns) => {
    const screen = await screenOf(columns);
    expect(rowsOf(screen).map((line) => line.replace(/^(\w)\S* .*(is a node)$/, '$1 $2'))).toEqual([
      ...['b is a node', 'm is a node', 'w is a node'],
    ]);
    const { lines } = screen;
    expect(lines.filter((line) => /^made-up {3}cluster/.test(line))).toEqual([
      expect.stringMatching(/cluster installed/) as string,
    ]);
    expect(lines.join('\n')).toMatch(/^made-up: installed after [\d.]+ s$/m);
    expect(lines.at(-1)).toBe('as expected');
  });

  it('shows percentages that do not fall, and the time that is left', async () => {
    const { output } = await screenOf([160]);
    // oxlint-disable-next-line no-control-regex
    const plain = output.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '\n');
    const shown = [...plain.matchAll(/install disk: (\d+) %/g)].map(([, percent]) =>
      Number(percent),
    );
    expect(Math.max(...shown)).toBeGreaterThan(50);
    expect(plain).toMatch(/\b\d+ m?s +\n?Write the operating system/);
    const hosts = shown.filter((_, index) => index % 3 === 0);
    expect(hosts).toEqual(hosts.toSorted((one, other) => one - other));
  });

  it('has no colour where NO_COLOR says so', async () => {
    // oxlint-disable-next-line no-control-regex
    const colour = /\u001b\[[\d;]*m/;
    expect((await screenOf([80])).output).toMatch(colour);
    expect((await screenOf([80], { NO_COLOR: '1' })).output).not.toMatch(colour);
  });

  it('is lines without any control in a terminal that has none, and in a pipe', async () => {
    const dumb = (await screenOf([80], { TERM: 'dumb' })).output.replaceAll('\r\n', '\n');
    const piped = await text(
      spawn(process.execPath, [probe, seconds], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout,
    );
    for (const output of [dumb, piped]) {
      // oxlint-disable-next-line no-control-regex
      expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      expect(output).toMatch(/ s {2}cluster installed\n/);
      for (const line of output.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    }
  });
});
