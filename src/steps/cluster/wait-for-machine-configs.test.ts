import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeKube, type FakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { machineConfigs, nodes } from '../../kube/kinds.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { configsAgree, waitForMachineConfigs } from './wait-for-machine-configs.ts';

const facts = { controlPlane: { units: [] } };

const master = (name: string, current: string, desired = current) => ({
  metadata: {
    name,
    labels: { 'node-role.kubernetes.io/master': '' },
    annotations: {
      'machineconfiguration.openshift.io/currentConfig': current,
      'machineconfiguration.openshift.io/desiredConfig': desired,
    },
  },
});
const config = (name: string) => ({ metadata: { name } });

/** A cluster that counts the requests for each MachineConfig. */
function counting(kube: FakeKube) {
  const requested: string[] = [];
  const counted = {
    ...kube,
    get: (...[ref, signal]: Parameters<FakeKube['get']>) => {
      requested.push(ref.name);
      return kube.get(ref, signal);
    },
  };
  return { kube: counted, requested };
}

describe('cluster/wait-for-machine-configs', () => {
  it('requests each MachineConfig until it exists', async () => {
    const clock = fakeClock({ auto: false });
    const world = fakeKube()
      .put(nodes, master('m1', 'a'))
      .put(nodes, master('m2', 'a', 'b'));
    const { kube, requested } = counting(world.put(machineConfigs, config('a')));
    const run = runStep(waitForMachineConfigs, { kube, clock, facts });
    await clock.advance(10_000);
    world.put(machineConfigs, config('b'));
    await clock.advance(5000);
    world.put(nodes, master('m1', 'a', 'b'));
    const { events } = await run;
    expect(requested.filter((name) => name === 'a')).toHaveLength(1);
    expect(requested.filter((name) => name === 'b').length).toBeGreaterThan(1);
    expect(
      events.flatMap((event) => (event.type === 'wait.updated' ? [event.status] : [])),
    ).toEqual([
      'not in the cluster: MachineConfig b',
      'the masters differ: m1 desires a, m2 desires b',
    ]);
  });

  it('continues waiting when a MachineConfig cannot be read', async () => {
    const world = fakeKube().put(nodes, master('m1', 'a')).put(machineConfigs, config('a'));
    let isDown = true;
    const kube = {
      ...world,
      get: (...[ref, signal]: Parameters<FakeKube['get']>) => {
        if (!isDown) return world.get(ref, signal);
        isDown = false;
        return Promise.reject(kubeFailure('kube.failed', 'etcd leader changed'));
      },
    };
    const { events } = await runStep(waitForMachineConfigs, { kube, facts });
    expect(events).toContainEqual(
      expect.objectContaining({ status: 'MachineConfig a cannot be read (kube.failed)' }),
    );
  });
});

const node = (name: string, current?: string, desired?: string): KubeObject => ({
  metadata: {
    name,
    annotations: {
      ...(current === undefined
        ? {}
        : { 'machineconfiguration.openshift.io/currentConfig': current }),
      ...(desired === undefined
        ? {}
        : { 'machineconfiguration.openshift.io/desiredConfig': desired }),
    },
  },
});

const present = new Set(['a', 'b']);

describe('configsAgree', () => {
  it.each<[string, readonly KubeObject[], boolean, string]>([
    ['two masters', [node('m1', 'a', 'a'), node('m2', 'a', 'a')], true, '2 masters agree on a'],
    [
      'a master that is being updated',
      [node('m1', 'a', 'b'), node('m2', 'b', 'b')],
      true,
      '2 masters agree on b',
    ],
    ['no masters', [], false, 'there is no master node yet'],
    ['no annotations', [{ metadata: { name: 'm1' } }], false, 'm1 has no current'],
    [
      'no current MachineConfig',
      [node('m1', undefined, 'a')],
      false,
      'm1 has no current MachineConfig',
    ],
    ['no desired MachineConfig', [node('m1', 'a')], false, 'm1 has no desired MachineConfig'],
    [
      'an empty desired MachineConfig',
      [node('m1', 'a', '')],
      false,
      'm1 has no desired MachineConfig',
    ],
    [
      'a missing current MachineConfig',
      [node('m1', 'x', 'a')],
      false,
      'not in the cluster: MachineConfig x',
    ],
    [
      'different desired MachineConfigs',
      [node('m1', 'a', 'a'), node('m2', 'a', 'b')],
      false,
      'the masters differ: m1 desires a, m2 desires b',
    ],
  ])('with %s', (...[, nodes, isAgreed, status]) => {
    const agreement = configsAgree(nodes, present);
    expect(agreement.isAgreed).toBe(isAgreed);
    expect(agreement.status).toContain(status);
  });
});
