import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlePath } from '../bundle.ts';
import { openSingleHost, singleHostWords } from '../../mocks/lab/single-host.ts';
import { startServer } from '../../test/contract/real/http-server.ts';
import { type Figure, percentile, run, secondsSince, start } from './process.ts';

const rounds = 21;

/** The program that a report could not be sent faster by. */
const bareReport = `
  const http = require('node:http');
  const body = '{"current_stage":"Starting installation","progress_info":"master"}\\n';
  http.request(process.argv[1], { method: 'PUT', headers: { 'Content-Type': 'application/json' } }).end(body);
`;

/**
 * The time until help is printed and until the service gets the first report, without and with
 * Node's compile cache.
 */
export async function measureStartUp(): Promise<readonly Figure[]> {
  await using host = await openSingleHost({
    role: 'master',
    isControlPlaneDone: true,
    token: 't',
    write: { seconds: 1, lineMillis: 100 },
  });
  using cache = mkdtempDisposableSync(join(tmpdir(), 'bootwright-bench-'));
  const cached = { NODE_COMPILE_CACHE: cache.path };
  const none = { NODE_COMPILE_CACHE: '' };
  const report = (url: string) => [process.execPath, '-e', bareReport, url] as const;
  const install = (url: string) => [bundlePath, ...singleHostWords('master', url)] as const;
  const help = [bundlePath, '--help'] as const;
  const [bareHelp, shownHelp] = await medians(
    async () => (await run([process.execPath, '-e', '0'])).seconds,
    async () => (await start(help, cached).ended).seconds,
  );
  const [bareFirst, first] = await medians(
    () => timeToRequest(report, none),
    () => timeToRequest(install, { ...host.environment, ...none }),
  );
  const [bareAgain, again] = await medians(
    () => timeToRequest(report, none),
    () => timeToRequest(install, { ...host.environment, ...cached }),
  );
  const same = 'bare Node with the same request';
  return [
    ['`--help`', 's', shownHelp, 2, { name: 'bare Node', measured: bareHelp }],
    ['start to the first request', 's', first, 5, { name: same, measured: bareFirst }],
    [
      'start to the first request, with a filled compile cache',
      's',
      again,
      3,
      { name: same, measured: bareAgain },
    ],
  ];
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
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const asked = Promise.withResolvers<number>();
  const server = await startServer((_, response) => {
    asked.resolve(secondsSince(since));
    response.end();
  });
  const since = performance.now();
  const program = start(argv(server.url), environment);
  const taken = await asked.promise;
  await program.stop();
  await server.close();
  return taken;
}
