import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bundlePath } from '../bundle.ts';
import { singleHostWords } from '../../mocks/lab/single-host.ts';
import { type Figure, median } from './figure.ts';
import { run, start } from './process.ts';

const rounds = 21;

/** How soon help is printed, and how soon the service hears of the host. */
export async function measureStartUp(): Promise<readonly Figure[]> {
  return [await measureHelp(), await measureFirstRequest()];
}

async function measureHelp(): Promise<Figure> {
  const bare: number[] = [];
  const help: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push((await run([process.execPath, '-e', '0'])).seconds);
    help.push((await run([bundlePath, '--help'])).seconds);
  }
  return {
    name: '`--help`',
    unit: 's',
    measured: median(help),
    baseline: { name: 'bare Node', measured: median(bare) },
    bound: 2,
    command: 'npm run bench -- start-up',
  };
}

/** The program that a report could not be sent faster by. */
const bareReport = `
  const http = require('node:http');
  const body = '{"current_stage":"Starting installation","progress_info":"master"}\\n';
  http.request(process.argv[1], { method: 'PUT', headers: { 'Content-Type': 'application/json' } }).end(body);
`;

async function measureFirstRequest(): Promise<Figure> {
  const root = await mkdtemp(join(tmpdir(), 'bootwright-bench-'));
  const bare: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await timeToRequest((url) => [process.execPath, '-e', bareReport, url], root));
    ours.push(await timeToRequest((url) => [bundlePath, ...singleHostWords('master', url)], root));
  }
  await rm(root, { recursive: true });
  return {
    name: 'start to the first request',
    unit: 's',
    measured: median(ours),
    baseline: { name: 'bare Node with the same request', measured: median(bare) },
    bound: 3,
    command: 'npm run bench -- start-up',
  };
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
