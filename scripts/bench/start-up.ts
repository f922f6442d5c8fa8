import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundlePath } from '../bundle.ts';
import { singleHostWords } from '../../mocks/lab/single-host.ts';
import { startServer } from '../../test/contract/real/http-server.ts';
import { type Findings, found, percentile } from './figure.ts';
import { run, secondsSince, start } from './process.ts';

const rounds = 21;

/** The program that a report could not be sent faster by. */
const bareReport = `
  const http = require('node:http');
  const body = '{"current_stage":"Starting installation","progress_info":"master"}\\n';
  http.request(process.argv[1], { method: 'PUT', headers: { 'Content-Type': 'application/json' } }).end(body);
`;

/** How soon help is printed, and how soon the service hears of the host. */
export async function measureStartUp(): Promise<Findings> {
  using root = mkdtempDisposableSync(join(tmpdir(), 'bootwright-bench-'));
  const [bareHelp, help] = await medians(
    async () => (await run([process.execPath, '-e', '0'])).seconds,
    async () => (await run([bundlePath, '--help'])).seconds,
  );
  const [bareFirst, first] = await medians(
    () => timeToRequest((url) => [process.execPath, '-e', bareReport, url], root.path),
    () => timeToRequest((url) => [bundlePath, ...singleHostWords('master', url)], root.path),
  );
  const same = { name: 'bare Node with the same request', measured: bareFirst };
  return found([
    ['`--help`', 's', help, 2, { name: 'bare Node', measured: bareHelp }],
    ['start to the first request', 's', first, 3, same],
  ]);
}

/** Measures a bare program and ours in turns, in seconds. */
async function medians(
  bare: () => Promise<number>,
  ours: () => Promise<number>,
): Promise<readonly [bare: number, ours: number]> {
  const [bareTimes, ourTimes]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    bareTimes.push(await bare());
    ourTimes.push(await ours());
  }
  return [percentile(bareTimes, 50), percentile(ourTimes, 50)];
}

async function timeToRequest(
  argv: (url: string) => readonly [string, ...string[]],
  root: string,
): Promise<number> {
  const asked = Promise.withResolvers<number>();
  const server = await startServer((_, response) => {
    asked.resolve(secondsSince(since));
    response.end();
  });
  const since = performance.now();
  // Node alone is on this PATH: without nsenter the agent reaches no host, and ends by itself.
  const program = start(argv(server.url), {
    BOOTWRIGHT_HOST_ROOT: root,
    PATH: dirname(process.execPath),
  });
  const taken = await asked.promise;
  await program.stop();
  await server.close();
  return taken;
}
