import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const probe = new URL('../process/probes/lab-run.ts', import.meta.url).pathname;
const seconds = '1.5';

/** What a made-up run prints in a real pseudo terminal of 80 columns. */
const inTerminal = async (): Promise<string> => {
  const command = `stty cols 80 rows 40; '${process.execPath}' '${probe}' ${seconds}`;
  const words = ['--quiet', '--flush', '--return', '--command', command, '/dev/null'];
  const child = spawn('script', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  return (await text(child.stdout)).replaceAll('\r\n', '\n');
};

const inPipe = (): Promise<string> =>
  text(spawn(process.execPath, [probe, seconds], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout);

it.each([
  ['a terminal', inTerminal],
  ['a pipe', inPipe],
])('the lab prints a line for each change in %s, and nothing twice', async (_, run) => {
  const output = await run();
  // oxlint-disable-next-line no-control-regex
  expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(output).toMatch(/ s {2}cluster installed\n/);
  expect(output).toMatch(/^made-up: installed after [\d.]+ s$/m);
  expect(output.trimEnd().split('\n').at(-1)).toBe('as expected');
  const lines = output.split('\n').map((line) => line.replace(/^ *[\d.]+ s {2}/, ''));
  const changes = lines.filter((line) => /^(m1|w1|bootstrap\S*) \w+: /.test(line));
  expect(changes.length).toBeGreaterThan(0);
  for (const [index, line] of changes.entries()) expect(changes.indexOf(line)).toBe(index);
});

it('a lab that is stopped twice cleans up', () => {
  const show = new URL('../../mocks/lab/show.ts', import.meta.url).pathname;
  const program = `
    import { stopSignal } from '${show}';
    const signal = stopSignal();
    signal.addEventListener('abort', () => {
      process.kill(process.pid, 'SIGINT');
      setTimeout(() => console.log('cleaned'), 200); // sleeps: what cleans up in the child
    });
    process.kill(process.pid, 'SIGINT');
    const waiting = setInterval(() => signal.aborted && clearInterval(waiting), 500);
  `;
  const words = ['--input-type=module', '--eval', program];
  const { stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stdout).toBe('cleaned\n');
});
