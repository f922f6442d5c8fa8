// Writes many lines to the journal and tells what it cost.
import { setTimeout as pause } from 'node:timers/promises';
import { journald } from '../../../src/adapters/logging/journald.ts';

const journal = journald();
const since = performance.now();
for (let count = 0; count < 1000; count += 1) {
  journal.line(`line ${count}`, count === 500 ? 'warn' : 'info');
  if (count % 250 === 249) await pause(100);
}
await journal.close();
process.stdout.write(
  JSON.stringify({ lost: journal.lost(), milliseconds: Math.round(performance.now() - since) }),
);
