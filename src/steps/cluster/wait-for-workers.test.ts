import { describe, expect, it } from 'vitest';
import { withInvoker } from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { reportsOf, runStep, statusesOf, tryStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { workerProgress, waitForWorkers } from './wait-for-workers.ts';

const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };
const worker = (stage: string) => inventoryHost({ name: 'w1', role: 'worker', stage });
const agentCluster = () => withInvoker(fakeKube(), 'agent-installer');

/** An inventory service whose worker changes its stage at a given time. */
function slowInventory(readyAt: number) {
  const clock = fakeClock();
  const requestTimes: number[] = [];
  const inventory = fakeInventory().answering({
    hosts: () => {
      requestTimes.push(clock.now());
      return Promise.resolve([worker(clock.now() < readyAt ? 'Installing' : 'Rebooting')]);
    },
  });
  return { config, clock, requestTimes, inventory, kube: agentCluster() };
}

describe('cluster/wait-for-workers', () => {
  it.each([
    ['another invoker', withInvoker(fakeKube(), 'assisted-service')],
    ['an unknown invoker', fakeKube()],
  ])('requests no workers with %s', async (_, kube) => {
    const inventory = fakeInventory({ hosts: [worker('Installing')] });
    await runStep(waitForWorkers, { config, kube, inventory });
    expect(inventory.calls).toEqual([]);
  });

  it.each([
    ['a worker in Rebooting', [worker('Rebooting')]],
    ['no workers', []],
  ])('sends one request with %s', async (_, hosts) => {
    const inventory = fakeInventory({ hosts });
    const { events } = await runStep(waitForWorkers, { config, kube: agentCluster(), inventory });
    expect([inventory.calls, statusesOf(events)]).toEqual([['hosts worker'], []]);
  });

  it('waits for a worker that is installing, with two requests per minute', async () => {
    const { requestTimes, ...run } = slowInventory(minutes(10));
    const { events } = await runStep(waitForWorkers, run);
    expect(statusesOf(events)).toEqual(['0 of 1 workers rebooted or failed; w1 is Installing']);
    expect(requestTimes).toHaveLength(21);
    expect(run.clock.now()).toBe(minutes(10));
  });

  it('continues when the service fails', async () => {
    const inventory = fakeInventory({ hosts: [worker('Done')] });
    inventory.failing('hosts', inventoryFailure('inventory.unreachable', 'down'), 2);
    const run = { config, kube: agentCluster(), inventory };
    const { events, notes } = await runStep(waitForWorkers, run);
    expect(inventory.calls).toHaveLength(3);
    expect(statusesOf(events)).toEqual(['the inventory service has not answered yet']);
    expect(notes).toEqual(['warn: the inventory service cannot be asked; asking again']);
  });

  it('retries to read the invoker when the API server is unreachable', async () => {
    const clock = fakeClock({ auto: false });
    const kube = agentCluster().lastError(kubeFailure('kube.unreachable', 'down'));
    const inventory = fakeInventory({ hosts: [worker('Done')] });
    const end = runStep(waitForWorkers, { config, clock, kube, inventory });
    await clock.advance(seconds(12));
    kube.lastError(undefined);
    await clock.advance(seconds(5));
    await end;
    expect(inventory.calls).toEqual(['hosts worker']);
  });

  it('requests no workers when the invoker cannot be read for five minutes', async () => {
    const clock = fakeClock();
    const kube = agentCluster().lastError(kubeFailure('kube.unreachable', 'down'));
    const inventory = fakeInventory();
    const { notes } = await runStep(waitForWorkers, { config, clock, kube, inventory });
    expect([clock.now(), inventory.calls]).toEqual([minutes(5), []]);
    expect(notes).toHaveLength(1);
  });

  it('renews the stage text every 20 minutes and times out', async () => {
    const { requestTimes, ...run } = slowInventory(hours(100));
    const { failure, events } = await tryStep(waitForWorkers, run);
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(requestTimes.length).toBeLessThanOrEqual(24 * 60 * 2 + 1);
    const reports = reportsOf(events, { ladder: 'bootstrap', stage: 'Waiting for controller' });
    expect(reports[1]).toBe('20: 0 of 1 workers rebooted or failed; w1 is Installing (20 min)');
    expect(reports).toHaveLength(1 + 24 * 3);
  });
});

const workerIn = (stage?: string, status = 'installing-in-progress') =>
  inventoryHost({ name: 'w1', role: 'worker', status, ...(stage === undefined ? {} : { stage }) });

describe('workerProgress', () => {
  it.each([
    ['Rebooting', true],
    ['Waiting for ignition', true],
    ['Configuring', true],
    ['Joined', true],
    ['Done', true],
    ['Failed', true],
    ['Starting installation', false],
    ['Installing', false],
    ['Writing image to disk', false],
    ['Waiting for control plane', false],
    ['A stage of next year', false],
    [undefined, false],
  ])('is done for a worker in stage %s: %s', (stage, isDone) => {
    expect(workerProgress([workerIn(stage)]).isDone).toBe(isDone);
  });

  it.each(['error', 'cancelled', 'disabled', 'installed'])(
    'is done for a worker with status %s',
    (status) => {
      expect(workerProgress([workerIn('Installing', status)]).isDone).toBe(true);
    },
  );
});

it('workerProgress names the workers that are not done', () => {
  const unnamed = inventoryHost({ name: '', id: 'h9', role: 'worker', status: 'installing' });
  expect(workerProgress([workerIn('Writing image to disk'), workerIn('Done'), unnamed])).toEqual({
    isDone: false,
    status: '1 of 3 workers rebooted or failed; h9 is installing; w1 is Writing image to disk',
  });
});
