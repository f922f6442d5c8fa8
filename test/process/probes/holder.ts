// Holds a lock until it is killed.
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';

const lock = await nsenterHost().lock('probe.lock', new AbortController().signal);
process.stdout.write(lock === undefined ? 'refused\n' : 'held\n');
setInterval(() => undefined, 1000);
