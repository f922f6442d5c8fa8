// Starts a program behind the real nsenter, with a child of its own, and stops it.
import { setTimeout as pause } from 'node:timers/promises';
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';
import { AgentError } from '../../../src/model/failure.ts';
import { processesWith } from './processes.ts';

const [how = 'abort', manner = 'obeys'] = process.argv.slice(2);
const trap = manner === 'ignores' ? "trap '' TERM; " : '';
const grandchild = `${trap}while :; do sleep 1234; done`;
const argv = ['sh', '-c', `sh -c "$0" & wait`, grandchild];

const limit = how === 'limit' ? 500 : 60_000;
const controller = new AbortController();
const running = nsenterHost()
  .exec(argv, { signal: controller.signal, limit })
  .catch((error: unknown) => error);
while (!processesWith('1234').includes('sleep 1234')) await pause(10);
const before = processesWith('1234').length;
if (how === 'abort') controller.abort(new Error('enough'));
const error = await running;
process.stdout.write(
  JSON.stringify({
    code: error instanceof AgentError ? error.code : String(error),
    before,
    left: processesWith('1234'),
  }),
);
