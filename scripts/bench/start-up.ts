import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundlePath } from '../bundle.ts';
import { singleHostWords } from '../../mocks/lab/single-host.ts';
import { type Findings, found, median } from './figure.ts';
import { run, start } from './process.ts';

const rounds = 21;

/** The program that a report could not be sent faster by. */
const bareReport = `
  const http = require('node:http');
  const body = '{"current_stage":"Starting installation","progress_info":"master"}\\n';
  http.request(process.argv[1], { method: 'PUT', headers: { 'Content-Type': 'application/json' } }).end(body);
`;

/** How soon help is printed, and how soon the service hears of the host. */
export async function measureStartUp(): Promise<Findings> {
  const root = await mkdtemp(join(tmpdir(), 'bootwright-bench-'));
  const [bareHelp, help] = await medians(
    async () => (await run([process.execPath, '-e', '0'])).seconds,
    async () => (await run([bundlePath, '--help'])).seconds,
  );
  const [bareFirst, first] = await medians(
    () => timeToRequest((url) => [process.execPath, '-e', bareReport, url], root),
    () => timeToRequest((url) => [bundlePath, ...singleHostWords('master', url)], root),
  );
  await rm(root, { recursive: true });
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
  const times: (readonly [number, number])[] = [];
  for (let round = 0; round < rounds; round += 1) times.push([await bare(), await ours()]);
  return [median(times.map(([time]) => time)), median(times.map(([, time]) => time))];
}

async function timeToRequest(
  argv: (url: string) => readonly [string, ...string[]],
  root: string,
): Promise<number> {
  const asked = Promise.withResolvers<number>();
  const server = createServer((_, response) => {
    asked.resolve(performance.now());
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const since = performance.now();
  const { port } = server.address() as AddressInfo;
  // Node alone is on this PATH: without nsenter the agent reaches no host, and ends by itself.
  const program = start(argv(`http://127.0.0.1:${port}`), {
    BOOTWRIGHT_HOST_ROOT: root,
    PATH: dirname(process.execPath),
  });
  const at = await asked.promise;
  program.stop();
  await program.ended;
  server.closeAllConnections();
  server.close();
  return (at - since) / 1000;
}
