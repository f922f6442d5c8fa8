import { describe, expect, it } from 'vitest';
import {
  type LayeredPool,
  masterImage,
  masterRendered,
  nodeObject,
} from '../../../test/layering/layered-pool.ts';
import { rollOutCluster } from '../../../test/layering/roll-out.ts';
import { poolProgress, type RollOutSnapshot } from './progress.ts';

const old = { currentImage: 'old', desiredImage: 'old' };
const done = {
  currentConfig: masterRendered,
  desiredConfig: masterRendered,
  state: 'Done',
  currentImage: masterImage,
  desiredImage: masterImage,
};
const drain = { desiredDrain: `drain-${masterRendered}` };
const drained = { ...drain, lastAppliedDrain: `drain-${masterRendered}` };

/** Two nodes: m1 with the given changes, m2 on the old image. */
const withNode = (
  annotations: Readonly<Record<string, string | undefined>>,
  { change = {}, ...more }: Partial<RollOutSnapshot> & { readonly change?: LayeredPool } = {},
): RollOutSnapshot =>
  rollOutCluster(change, {
    nodes: [
      nodeObject('m1', 'master', { ...done, ...annotations }),
      nodeObject('m2', 'master', { ...done, ...old }),
    ],
    ...more,
  });

const budget = (more: object = {}) => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector: { matchLabels: { app: 'web' } } },
  status: { disruptionsAllowed: 0 },
  ...more,
});
const pod = (metadata: object = {}, phase = 'Running') => ({
  metadata: { name: 'web-0', namespace: 'shop', labels: { app: 'web' }, ...metadata },
  spec: { nodeName: 'm1' },
  status: { phase },
});
const draining = { ...drain, currentImage: 'old', state: 'Working' };

describe('waitsFor of a node', () => {
  it.each<[string, RollOutSnapshot, string, string]>([
    ['no change', withNode({}), '', 'to be chosen'],
    [
      'its agent',
      withNode({ currentImage: 'old' }),
      'chosen; its agent has not begun',
      'maxUnavailable 1: first m1',
    ],
    [
      'the change of the OS',
      withNode({ ...drained, currentImage: 'old', state: 'Working' }),
      'drained; being changed',
      'maxUnavailable 1: first m1',
    ],
    [
      'its uncordon',
      withNode({ desiredDrain: 'uncordon-x', lastAppliedDrain: 'drain-x' }),
      'to be uncordoned',
      'to be chosen',
    ],
    [
      'a user, after it degraded',
      withNode({ currentImage: 'old', state: 'Degraded', reason: 'no space' }),
      'no space',
      'maxUnavailable 1: first m1',
    ],
    [
      'a user, after it degraded without a reason',
      withNode({ currentImage: 'old', state: 'Degraded' }),
      'a reason is not given',
      'maxUnavailable 1: first m1',
    ],
    [
      'its work, without a reason',
      withNode({ state: 'Working' }),
      'at work',
      'maxUnavailable 1: first m1',
    ],
    [
      'its work',
      withNode({ state: 'Working', reason: 'staging the image' }),
      'staging the image',
      'maxUnavailable 1: first m1',
    ],
    [
      'the pool to be unpaused',
      withNode({}, { change: { pool: { paused: true } } }),
      '',
      'the pool is paused',
    ],
    [
      'its agent, beside a second node',
      withNode(
        { currentImage: 'old' },
        { change: { pool: { configuration: { name: masterRendered }, maxUnavailable: 2 } } },
      ),
      'chosen; its agent has not begun',
      'to be chosen',
    ],
    [
      'one master at a time under our controller despite maxUnavailable 2',
      withNode(
        { currentImage: 'old' },
        {
          change: { pool: { configuration: { name: masterRendered }, maxUnavailable: 2 } },
          operator: { deployments: [], leases: [], now: 0, pods: [] },
        },
      ),
      'chosen; its agent has not begun',
      'maxUnavailable 1: first m1',
    ],
    ['its drain', withNode(draining), 'being drained', 'maxUnavailable 1: first m1'],
    [
      'a PodDisruptionBudget',
      withNode(draining, { pods: [pod(), pod({ name: 'web-1' })], budgets: [budget()] }),
      'drain blocked: pod shop/web-0 by budget shop/web, and 1 more pod',
      'maxUnavailable 1: first m1',
    ],
    [
      'one pod of a PodDisruptionBudget',
      withNode(draining, { pods: [pod()], budgets: [budget()] }),
      'drain blocked: pod shop/web-0 by budget shop/web',
      'maxUnavailable 1: first m1',
    ],
    [
      'three pods of a PodDisruptionBudget',
      withNode(draining, {
        pods: [pod(), pod({ name: 'web-1' }), pod({ name: 'web-2' })],
        budgets: [budget()],
      }),
      'drain blocked: pod shop/web-0 by budget shop/web, and 2 more pods',
      'maxUnavailable 1: first m1',
    ],
    [
      'its drain, with a PodDisruptionBudget that allows a disruption',
      withNode(draining, {
        pods: [pod()],
        budgets: [budget({ status: { disruptionsAllowed: 1 } })],
      }),
      'being drained',
      'maxUnavailable 1: first m1',
    ],
    [
      'its drain, with a pod of a DaemonSet',
      withNode(draining, {
        pods: [pod({ ownerReferences: [{ kind: 'DaemonSet', controller: true }] })],
        budgets: [budget()],
      }),
      'being drained',
      'maxUnavailable 1: first m1',
    ],
  ])('is %s', (_, cluster, ...waits) => {
    // In some cases the pool has no configuration of its own.
    const pools = cluster.pools.map((one) =>
      one.metadata.name === 'master'
        ? { ...one, spec: { ...(one['spec'] as object), configuration: { name: masterRendered } } }
        : one,
    );
    const { nodes } = poolProgress('master', { ...cluster, pools });
    expect(nodes.map(({ waitsFor }) => waitsFor)).toEqual(waits);
  });

  it('is the time since a node became not Ready, or its cordon', () => {
    const restarted = {
      ...nodeObject('m1', 'master', done),
      status: {
        conditions: [
          { type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-11-23T11:57:00Z' },
        ],
      },
    };
    const cordoned = { ...nodeObject('m2', 'master', done), spec: { unschedulable: true } };
    const open = { ...nodeObject('m3', 'master', { ...done, ...old }), spec: cordoned.spec };
    const unknown = { ...restarted, status: { conditions: [{ type: 'Ready', status: 'False' }] } };
    const cluster = rollOutCluster({}, { nodes: [restarted, unknown, cordoned, open] });
    expect(poolProgress('master', cluster).nodes.map(({ waitsFor }) => waitsFor)).toEqual([
      'not Ready for 3 min',
      'not Ready',
      'cordoned by somebody',
      'cordoned by somebody',
    ]);
  });
});

describe('the runner of a pool', () => {
  const none = { deployments: [], leases: [], now: 0, pods: [] };
  const lease = (renewTime: string, holderIdentity = 'pod-1') => ({
    metadata: { name: 'l' },
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 137 },
  });
  it.each<[Partial<RollOutSnapshot>, string]>([
    [{}, 'machine-config-operator'],
    [{ operator: none }, ''],
    [{ operator: none, lease: lease('2026-11-23T11:59:00.000000Z') }, 'bootwright'],
    [{ operator: none, lease: lease('2026-11-23T12:00:30.000000Z') }, 'bootwright'],
    [{ operator: none, lease: lease('2026-11-23T11:55:26.000000Z') }, 'bootwright'],
    [{ operator: none, lease: lease('2026-11-23T11:55:25.000000Z') }, ''],
    [{ operator: none, lease: lease('') }, ''],
    [{ operator: none, lease: { metadata: { name: 'l' }, spec: { holderIdentity: 'pod-1' } } }, ''],
    [{ operator: none, lease: lease('2026-11-23T11:59:00.000000Z', '') }, ''],
    [{ lease: lease('2026-11-23T11:59:00.000000Z') }, 'machine-config-operator'],
  ])('with %j is "%s"', (more, by) => {
    expect(poolProgress('master', rollOutCluster({}, more)).runner.by).toBe(by);
  });

  it('asks for a controller when nodes wait and no controller runs', () => {
    const { actions } = poolProgress('master', rollOutCluster({ node: old }, { operator: none }));
    expect(actions).toEqual([
      'no controller rolls out to pool master: neither the operator nor bootwright node controller is there',
    ]);
    expect(poolProgress('master', rollOutCluster({}, { operator: none })).actions).toEqual([]);
  });

  it.each<[string, LayeredPool]>([
    ['with waiting nodes', { node: old }],
    ['without waiting nodes', {}],
  ])('advises only to unpause a pool that a hand-over has paused, %s', (_, one) => {
    const pool = { configuration: { name: masterRendered }, paused: true };
    const cluster = rollOutCluster({ ...one, pool });
    const annotations = { 'bootwright.io/paused-for-hand-over': '2026-11-23T11:00:00Z' };
    const held = cluster.pools.map((found) => ({
      ...found,
      metadata: { ...found.metadata, annotations },
    }));
    for (const osConfigs of [cluster.osConfigs, []]) {
      const { actions } = poolProgress('master', { ...cluster, osConfigs, pools: held });
      expect(actions).toEqual([expect.stringContaining('layer unpause --kubeconfig')]);
    }
  });
});

describe('the actions for a person', () => {
  const actionsFor = (cluster: RollOutSnapshot) => poolProgress('master', cluster).actions;

  it.each([
    [2, 'm1, m2'],
    [3, 'm1, m2, m3'],
    [4, 'm1, m2, m3 and 1 more'],
  ])('name %i degraded nodes', (count, names) => {
    const nodes = Array.from({ length: count }, (_, index) =>
      nodeObject(`m${index + 1}`, 'master', { ...done, state: 'Degraded', reason: 'no space' }),
    );
    expect(actionsFor(rollOutCluster({}, { nodes }))).toEqual([
      `correct what degrades ${names}: no other node begins before`,
    ]);
  });

  it('name a node whose drain a budget blocks, and not one that is degraded too', () => {
    const more = { pods: [pod()], budgets: [budget()] };
    expect(actionsFor(withNode(draining, more))).toEqual([
      'let m1 be drained: run more replicas of what the budget protects, or delete the pod',
    ]);
    expect(actionsFor(withNode({ ...draining, state: 'Degraded' }, more))).toEqual([
      'correct what degrades m1: no other node begins before',
    ]);
    expect(actionsFor(withNode({}, more))).toEqual([]);
  });

  it('name a paused pool only while nodes wait', () => {
    const pool = { configuration: { name: masterRendered }, paused: true };
    expect(actionsFor(rollOutCluster({ node: old, pool }))).toEqual([
      `unpause the pool: oc patch machineconfigpool/master --type merge -p '{"spec":{"paused":false}}'`,
    ]);
    expect(actionsFor(rollOutCluster({ pool }))).toEqual([]);
  });
});
