// Logs more than the pipe on standard output holds, and ends.
import { openLog } from '../../../src/adapters/logging/log-sink.ts';

const log = openLog({ level: 'info', format: 'json', mask: (text) => text });
for (let count = 0; count < 5000; count += 1) {
  log.write({ at: 0, level: 'info', message: 'x'.repeat(100), fields: {} });
}
await log.close();
process.exit(7);
