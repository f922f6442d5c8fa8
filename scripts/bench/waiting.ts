import { minutes, seconds } from '../../src/model/duration.ts';
import { startRig } from '../rig.ts';
import { makeInstallConfig, makeNodes, openBootstrapStage } from './bootstrap.ts';
import { type Findings, found } from './figure.ts';
import { openStage, over, pause, seen } from './process.ts';

const watched = minutes(3);

/** The first look is several requests by contract, and its text is reported 10 s later; the steady state is what a waiting host costs. */
const settling = seconds(15);

/** Masters that have come and are not Ready, so that the bootstrap host continues waiting. */
const comingMasters = 2;

/** How often hosts that wait ask the service and the API server. */
export async function measureWaiting(): Promise<Findings> {
  // They cost nothing while they wait, so both are watched at once.
  const [worker, [service, api]] = await Promise.all([requestsOfWorker(), requestsOfBootstrap()]);
  const unit = 'requests per minute';
  return found([
    // Two look at the masters, and one asks whether the service still installs this host.
    ['requests of a waiting worker', unit, worker, 3],
    ['requests of a bootstrap host that waits for masters', unit, service, 2],
    // A watch is asked to end after ten seconds, so that one that died is noticed.
    ['its requests to the API server', unit, api, 7],
  ]);
}

async function requestsOfWorker(): Promise<number> {
  await using stage = await openStage('worker');
  stage.host.machine.writer.seconds = 0.5;
  const agent = stage.agent();
  await over(await seen(stage.host.machine, 'coreos-installer'));
  const requests = await perMinute(() => stage.host.inventory.requests.length);
  agent.stop();
  await agent.ended;
  return requests;
}

/** Those to the service, and those to the API server. */
async function requestsOfBootstrap(): Promise<readonly [number, number]> {
  await using rig = await startRig({ crds: [], isAudited: true });
  await makeInstallConfig(rig);
  await makeNodes(rig, comingMasters, comingMasters);
  const user = { name: 'bench-bootstrap', groups: ['system:masters'] };
  await using stage = await openBootstrapStage(await rig.kubeconfigFor({ user }));
  return await Promise.all([
    perMinute(() => stage.host.inventory.requests.length),
    perMinute(async () => (await rig.audited(user.name)).length),
  ]);
}

async function perMinute(count: () => number | Promise<number>): Promise<number> {
  await pause(settling);
  const before = await count();
  await pause(watched);
  return ((await count()) - before) / (watched / minutes(1));
}
