import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('a lab that gets SIGINT twice cleans up', () => {
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
