// A second taker while another process holds the lock, and after that process was killed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';

const signal = new AbortController().signal;
const holder = spawn(process.execPath, [new URL('holder.ts', import.meta.url).pathname], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [said] = (await once(holder.stdout, 'data')) as [Buffer];
const host = nsenterHost();
const whileHeld = await host.lock('probe.lock', signal);
holder.kill('SIGKILL');
await once(holder, 'exit');
let after = await host.lock('probe.lock', signal);
while (after === undefined) {
  await pause(20);
  after = await host.lock('probe.lock', signal);
}
process.stdout.write(
  JSON.stringify({
    holder: said.toString().trim(),
    whileHeld: whileHeld === undefined ? 'refused' : 'held',
    afterKill: 'held',
  }),
);
// The lock is still held here: it must not keep this process from ending.
