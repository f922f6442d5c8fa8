// The rendered MachineConfig of a pool on a real API server, which checks it by the real definitions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { machineConfigPools, machineConfigs } from '../../src/cluster/kinds.ts';
import { renderedNameOf } from '../../src/layering/api/machine-config-pool.ts';
import { runPools } from '../support/run-pools.ts';
import { clusterOf } from './rig.ts';

const apiVersion = 'machineconfiguration.openshift.io/v1';
const role = 'machineconfiguration.openshift.io/role';
const crds = ['machineconfigpools', 'machineconfigs', 'machineosconfigs', 'machineosbuilds'];

const source = (name: string, spec: object) => ({
  apiVersion,
  kind: 'MachineConfig',
  metadata: { name, labels: { [role]: 'worker' } },
  spec: { config: { ignition: { version: '3.5.0' } }, ...spec },
});
const pool = {
  apiVersion,
  kind: 'MachineConfigPool',
  metadata: { name: 'worker' },
  spec: { machineConfigSelector: { matchLabels: { [role]: 'worker' } } },
};

let rig: Rig;
let kube: KubeCluster;
beforeAll(async () => {
  rig = await startRig({ crds });
  kube = clusterOf(rig.kubeconfig);
});
afterAll(async () => {
  await kube.close();
  await rig.close();
});

const configured = async (): Promise<string> =>
  renderedNameOf(await rig.client.get({ kind: machineConfigPools, name: 'worker' }));
const renderedNow = async (): Promise<readonly string[]> =>
  (await rig.client.list({ kind: machineConfigs }))
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('rendered-'));

describe('the rendered MachineConfigs on a real API server', () => {
  it('are made, put into the pool, and made once more after a change and a restart', async () => {
    await rig.client.create(machineConfigPools, pool);
    await rig.client.create(machineConfigs, source('00-worker', { osImageURL: 'r.test/os:1' }));
    const first = start();
    await expect.poll(configured).not.toBe('');
    const before = await configured();
    await first();
    const spec = { kernelArguments: ['quiet'], extensions: ['usbguard'], fips: true };
    await rig.client.create(machineConfigs, source('50-worker', spec));
    const second = start();
    await expect.poll(configured).not.toBe(before);
    const notes = await second();
    expect([...(await renderedNow())].sort()).toEqual([before, await configured()].sort());
    const name = await configured();
    const rendered = await rig.client.get({ kind: machineConfigs, name });
    expect(rendered?.['spec']).toMatchObject({ ...spec, osImageURL: 'r.test/os:1' });
    expect(notes).toEqual([`info: pool worker: its configuration is ${name}`]);
  });
});

/** Starts the step; what comes back ends it, once it has said what it did: the cluster has that a moment earlier. */
function start(): () => Promise<readonly string[]> {
  const stop = new AbortController();
  const noted = Promise.withResolvers<void>();
  const ended = runPools('render-configs', {
    ...{ kube, clock: systemClock, signal: stop.signal },
    heard: ({ type }) => {
      if (type === 'note') noted.resolve();
    },
  });
  return async () => {
    await noted.promise;
    stop.abort(new Error('stop'));
    return (await ended).notes;
  };
}
