import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';

it('closes an event stream on a socket as soon as a slow reader has read it', async () => {
  const child = spawn(process.execPath, [`${import.meta.dirname}/probes/slow-socket.ts`]);
  let said = '';
  for await (const part of child.stderr) {
    said += String(part);
    if (said === 'full\n') child.stdout.resume();
  }
  expect(said).toBe('full\nclosed\n');
});
