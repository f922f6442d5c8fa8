import { describe, expect, it } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import { deployments, machineConfigPools, machineConfigs, nodes } from '../../cluster/kinds.ts';
import { conditionOf, nodeKeys } from '../../layering/api/cluster-object.ts';
import { seconds } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';

const role = 'node-role.kubernetes.io/worker';
const select = { matchLabels: { [role]: '' } };
const pool: KubeObject = {
  metadata: { name: 'worker' },
  spec: {
    configuration: { name: 'r2' },
    ...{ nodeSelector: select, machineConfigSelector: select },
  },
};
const node = (name: string, config: string): KubeObject => ({
  metadata: {
    ...{ name, labels: { [role]: '' } },
    annotations: {
      ...{ [nodeKeys.state]: 'Done', [nodeKeys.desiredConfig]: config },
      [nodeKeys.currentConfig]: config,
    },
  },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const source: KubeObject = {
  metadata: { name: '00-worker', labels: { [role]: '' } },
  spec: { osImageURL: 'r.test/os:1', config: { ignition: { version: '3.4.0' } } },
};
const deployment = {
  metadata: { name: 'machine-config-controller', namespace: 'assisted-installer' },
};

function setUp() {
  const kube = fakeKube().put(machineConfigPools, pool).put(machineConfigs, source);
  kube.put(nodes, node('w0', 'r2')).put(nodes, node('w1', 'r1'));
  const clock = fakeClock({ auto: false });
  const stop = new AbortController();
  const start = (port: Kube = kube) =>
    runPools('write-status', { kube: port, clock, signal: stop.signal });
  const advance = async (): Promise<void> => {
    for (let passed = 0; passed < 10; passed += 1) {
      await clock.advance(seconds(2));
      await settle();
    }
  };
  const status = () => kube.objectsOf(machineConfigPools)[0]?.['status'];
  return { kube, stop, start, advance, status };
}

describe('write status', () => {
  it('calls no pool degraded whose image nobody names', async () => {
    const { kube, stop, start, advance, status } = setUp();
    const { osImageURL: _, ...spec } = source['spec'] as Readonly<Record<string, unknown>>;
    kube.put(machineConfigs, { ...source, spec });
    const ended = start();
    await advance();
    expect(status()).toMatchObject({ machineCount: 2 });
    expect(
      conditionOf({ metadata: pool.metadata, status: status() }, 'RenderDegraded').status,
    ).toBe('False');
    stop.abort(new Error('stop'));
    await ended;
  });

  it('counts nodes, then counts those that are left, and writes nothing while nothing changes', async () => {
    const { kube, stop, start, advance, status } = setUp();
    const ended = start();
    await advance();
    expect(status()).toMatchObject({ machineCount: 2, updatedMachineCount: 1 });
    expect(kube.writes).toMatchObject([{ verb: 'patch', subresource: 'status' }]);
    kube.put(nodes, node('w1', 'r1'));
    await advance();
    expect(kube.writes).toHaveLength(1);
    kube.drop({ kind: nodes, name: 'w1' });
    await advance();
    expect(status()).toMatchObject({ machineCount: 1, configuration: { name: 'r2' } });
    stop.abort(new Error('stop'));
    await ended;
  });

  it('says what cannot be rendered, and that it can be again', async () => {
    const { kube, stop, start, advance, status } = setUp();
    kube.put(machineConfigs, { ...source, spec: { config: { ignition: { version: '9.0.0' } } } });
    const ended = start();
    await advance();
    const degraded = (value: string): unknown =>
      expect.arrayContaining([expect.objectContaining({ type: 'RenderDegraded', status: value })]);
    expect(status()).toMatchObject({ conditions: degraded('True') });
    kube.put(machineConfigs, source);
    await advance();
    expect(status()).toMatchObject({ conditions: degraded('False') });
    stop.abort(new Error('stop'));
    await ended;
  });

  it('leaves a pool of the operator, one that it takes over at this moment, and one that is removed', async () => {
    const { kube, stop, start, advance } = setUp();
    const port: Kube = {
      ...kube,
      get: (ref, signal) =>
        ref.kind === deployments ? Promise.resolve(deployment) : kube.get(ref, signal),
    };
    const ended = start(port);
    await advance();
    kube.put(deployments, deployment);
    await advance();
    kube.drop({ kind: machineConfigPools, name: 'worker' });
    await advance();
    expect(kube.writes).toEqual([]);
    stop.abort(new Error('stop'));
    await ended;
  });

  it('counts again when the pool has changed since it was seen', async () => {
    const { kube, stop, start, advance, status } = setUp();
    let isFirst = true;
    const busy: Kube = {
      ...kube,
      patch: (ref, patch, signal) => {
        if (isFirst)
          kube.put(machineConfigPools, { ...pool, spec: { configuration: { name: 'r3' } } });
        isFirst = false;
        return kube.patch(ref, patch, signal);
      },
    };
    const ended = start(busy);
    await advance();
    expect(status()).toMatchObject({ machineCount: 0 });
    stop.abort(new Error('stop'));
    await ended;
  });
});
