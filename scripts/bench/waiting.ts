import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { readKubeconfig } from '../../src/adapters/kube/kubeconfig.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { ensureParts } from '../parts/ensure.ts';
import { clusterParts, startRig } from '../rig.ts';
import { makeInstallConfig, makeNodes, openBootstrapStage } from './bootstrap.ts';
import type { Figure } from './figure.ts';
import { openStage, over, pause, seen } from './process.ts';

const watched = minutes(3);
const command = 'npm run bench -- waiting';

/** The first look is several requests by contract, and its text is reported 10 s later; the steady state is what a waiting host costs. */
const settling = seconds(15);

/** Masters that have come and are not Ready, so that the bootstrap host continues waiting. */
const comingMasters = 2;

/** How often hosts that wait ask the service and the API server. */
export async function measureWaiting(): Promise<readonly Figure[]> {
  await ensureParts(clusterParts);
  // They cost nothing while they wait, so both are watched at once.
  const [worker, bootstrap] = await Promise.all([measureWorker(), measureBootstrap()]);
  return [worker, ...bootstrap];
}

async function measureWorker(): Promise<Figure> {
  await using stage = await openStage('worker');
  stage.host.machine.writer.seconds = 0.5;
  const agent = stage.agent();
  await over(await seen(stage.host.machine, 'coreos-installer'));
  const requests = await perMinute(() => stage.host.inventory.requests.length);
  agent.stop();
  await agent.ended;
  // Two look at the masters, and one asks whether the service still installs this host.
  return figureOf('requests of a waiting worker', requests, 3);
}

async function measureBootstrap(): Promise<readonly Figure[]> {
  await using rig = await startRig({ crds: [] });
  await makeInstallConfig(rig);
  await makeNodes(rig, comingMasters, comingMasters);
  await using counter = await countRequests(rig.kubeconfig);
  await using stage = await openBootstrapStage(counter.kubeconfig);
  const [service, api] = await Promise.all([
    perMinute(() => stage.host.inventory.requests.length),
    perMinute(counter.requests),
  ]);
  return [
    figureOf('requests of a bootstrap host that waits for masters', service, 2),
    // A watch is asked to end after ten seconds, so that one that died is noticed.
    figureOf('its requests to the API server', api, 7),
  ];
}

async function perMinute(count: () => number): Promise<number> {
  await pause(settling);
  const before = count();
  await pause(watched);
  return (count() - before) / (watched / minutes(1));
}

const figureOf = (name: string, measured: number, bound: number): Figure => ({
  name,
  unit: 'requests per minute',
  measured,
  bound,
  command,
});

/** Counts the requests that pass to an API server. */
export interface ApiCounter extends AsyncDisposable {
  /** As the one it was made from, by way of the counter. */
  readonly kubeconfig: string;
  readonly requests: () => number;
}

/** Puts a counter before the API server of a kubeconfig; it speaks plain HTTP to whoever asks. */
export async function countRequests(kubeconfig: string): Promise<ApiCounter> {
  const access = readKubeconfig(kubeconfig);
  const agent = new Agent({
    keepAlive: true,
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    ...(access.certificate === undefined ? {} : { cert: access.certificate }),
    ...(access.key === undefined ? {} : { key: access.key.reveal() }),
  });
  let requests = 0;
  const server = createServer((asked, answer) => {
    requests += 1;
    pass(new URL(asked.url ?? '/', access.server), agent, { asked, answer });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    kubeconfig: kubeconfig.replace(access.server, `http://127.0.0.1:${port}`),
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      agent.destroy();
    },
  };
}

interface Exchange {
  readonly asked: IncomingMessage;
  readonly answer: ServerResponse;
}

/** What breaks off on one side breaks off on the other. */
function pass(url: URL, agent: Agent, { asked, answer }: Exchange): void {
  const { method, headers } = asked;
  const further = request(url, { agent, method, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    answer.flushHeaders();
    pipeline(response, answer, () => undefined);
  });
  further.on('error', () => answer.destroy());
  answer.on('close', () => further.destroy());
  asked.pipe(further);
}
