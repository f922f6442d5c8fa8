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

it('ends an event stream on a socket as soon as a slow reader has read it', async () => {
  const child = spawn(process.execPath, [`${import.meta.dirname}/probes/slow-socket.ts`]);
  let said = '';
  for await (const part of child.stderr) {
    said += String(part);
    if (said === 'full\n') child.stdout.resume();
  }
  expect(Number(/^full\n(\d+)\n$/.exec(said)?.[1])).toBeLessThan(800);
});
