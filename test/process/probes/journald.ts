// Writes many lines to the journal, and has longer than usual for the last of them.
import { setTimeout as pause } from 'node:timers/promises';
import { journald } from '../../../src/adapters/logging/journald.ts';
import { lengthen } from './patient.ts';

const journal = journald({
  access: { prefix: [], environment: process.env },
  socket: '/run/systemd/journal/socket',
});
for (let count = 0; count < 1000; count += 1) {
  journal.line(`line ${count}`, count === 500 ? 'warn' : 'info');
  if (count % 250 === 249) await pause(100);
}
lengthen(2000);
await journal.close();
