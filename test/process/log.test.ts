import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

it('a log whose reader has stopped does not keep the program from ending', async () => {
  const probe = new URL('probes/stuck-reader.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [probe], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.pause();
  const [code] = (await once(child, 'exit')) as [number];
  expect(code).toBe(7);
});
