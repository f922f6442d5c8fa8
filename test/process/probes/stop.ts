// Starts a program behind the real nsenter, with a child of its own, and stops it.
import { setTimeout as pause } from 'node:timers/promises';
import { nsenterHost } from '../../../src/adapters/host/nsenter-host.ts';
import { AgentError } from '../../../src/model/failure.ts';
import { processesWith } from './processes.ts';

const [how = 'abort', manner = 'obeys'] = process.argv.slice(2);
const trap = manner === 'ignores' ? "trap '' TERM; " : '';
const grandchild = `${trap}while :; do sleep 1234; done`;
const argv = ['sh', '-c', `sh -c "$0" & wait`, grandchild];

let seen: readonly string[] = [];
let error: unknown;
const isStarted = (): boolean => seen.includes('sleep 1234');
// A busy machine may take longer than a limit to start the program: then the next one is longer.
for (let limit = how === 'limit' ? 500 : 600_000; !isStarted(); limit *= 2) {
  const controller = new AbortController();
  const ended = new AbortController();
  const isOver = (): boolean => ended.signal.aborted;
  const running = nsenterHost()
    .exec(argv, { signal: controller.signal, limit })
    .catch((thrown: unknown) => thrown)
    .finally(() => ended.abort());
  while (!isStarted() && !isOver()) {
    await pause(10);
    seen = processesWith('1234');
  }
  if (how === 'abort') controller.abort(new Error('enough'));
  error = await running;
}
process.stdout.write(
  JSON.stringify({
    code: error instanceof AgentError ? error.code : String(error),
    before: seen.length,
    left: processesWith('1234'),
  }),
);
