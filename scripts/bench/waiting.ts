import { minutes } from '../../src/model/duration.ts';
import type { Figure } from './figure.ts';
import { openStage, over, pause, seen } from './stage.ts';

const watched = minutes(3);

/** How often a worker that waits for the control plane asks the service. */
export async function measureWaiting(): Promise<readonly Figure[]> {
  await using stage = await openStage('worker');
  stage.host.machine.writer.seconds = 0.5;
  const agent = stage.agent();
  await over(await seen(stage.host.machine, 'coreos-installer'));
  // The first look is three requests by contract; the steady state is what a waiting host costs.
  await pause(5000);
  const before = stage.host.inventory.requests.length;
  await pause(watched);
  const requests = stage.host.inventory.requests.length - before;
  agent.stop();
  await agent.ended;
  return [
    {
      name: 'requests of a waiting worker',
      unit: 'requests per minute',
      measured: requests / (watched / minutes(1)),
      bound: 2,
      command: 'npm run bench -- waiting',
    },
  ];
}
