import { clusterParts, startRig } from '../rig.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import { ensureParts } from '../parts/ensure.ts';
import { countRequests } from './api-counter.ts';
import { openBootstrapStage } from './bootstrap-stage.ts';
import { makeInstallConfig, makeNodes } from './crowd.ts';
import type { Figure } from './figure.ts';
import { openStage, over, pause, seen } from './stage.ts';

const watched = minutes(3);
const command = 'npm run bench -- waiting';

/** The first look is several requests by contract; the steady state is what a waiting host costs. */
const settling = seconds(5);

/** Masters that have come and are not Ready, so that the bootstrap host goes on waiting. */
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
  return figureOf('requests of a waiting worker', requests, 2);
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
