import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { ensureBundle } from '../../scripts/bundle.ts';
import { startRig } from '../../scripts/api-server.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import {
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
  podDisruptionBudgets,
  pods,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import { handOverServed } from '../../src/steps/layering/hand-over.ts';
import {
  buildNamed,
  final,
  handOverFacts,
  handOverHost,
  rendered,
} from '../layering/hand-over-site.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { masterOn } from '../layering/layered-pool.ts';
import { runStep } from '../support/run-step.ts';
import { clusterOf, serviceAccountOf } from './cluster-access.ts';
import { putSite } from './layered-masters.ts';

let rig: Rig;
let kube: KubeCluster;
let kubeconfig: string;
/**
 * The output of a command, in order; and its standard output alone, without notes about a slow
 * server.
 */
let printed: string[];
let output: string[];

beforeAll(async () => {
  await ensureBundle(() => undefined);
  rig = await startRig();
  kubeconfig = join(rig.folder, 'admin.kubeconfig');
  writeFileSync(kubeconfig, rig.kubeconfig);
  kube = clusterOf(rig.kubeconfig);
  await putSite(rig.client);
  await rig.client.apply(nodes, masterOn('m1', rendered, final));
});
afterAll(async () => {
  await kube.close();
  await rig.close();
});
beforeEach(() => {
  printed = [];
  output = [];
  const keep = (text: unknown): boolean => printed.push(String(text)) > 0;
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output.push(String(text));
    return keep(text);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const layer = (action: string, ...words: readonly string[]): Promise<number> =>
  bootwright().run(['layer', action, '--kubeconfig', kubeconfig, ...words]);

const there = async (): Promise<readonly boolean[]> =>
  Promise.all(
    [
      { kind: machineOSConfigs, name: 'master' },
      { kind: machineOSBuilds, name: buildNamed },
    ].map(async (ref) => (await rig.client.get(ref)) !== undefined),
  );

describe('layer status and layer unpause on a real API server', () => {
  it('refuse a missing pool', async () => {
    const refusal = { code: 'layering.pool-missing' };
    await expect(layer('status', '--pool', 'none')).rejects.toMatchObject(refusal);
    await expect(layer('unpause', '--pool', 'none', '--yes')).rejects.toMatchObject(refusal);
  });

  it('unpause only a pause that a stopped run has left', async () => {
    const ref = { kind: machineConfigPools, name: 'master' };
    const pauseKey = 'bootwright.io/paused-for-hand-over';
    const setPause = (since: string | null) =>
      rig.client.merge(ref, {
        metadata: { annotations: { [pauseKey]: since } },
        spec: { paused: true },
      });
    await setPause(null);
    expect(await layer('unpause', '--yes')).toBe(0);
    expect(await rig.client.get(ref)).toMatchObject({ spec: { paused: true } });
    await setPause('2026-11-26T12:00:00Z');
    expect(await layer('unpause')).toBe(2);
    expect(printed.join('')).toContain('m1');
    expect(await rig.client.get(ref)).toMatchObject({ spec: { paused: true } });
    expect(await layer('unpause', '--yes', '--pool', 'master')).toBe(0);
    const after = await rig.client.get(ref);
    expect(after).toMatchObject({ spec: { paused: false } });
    expect(after?.metadata.annotations?.[pauseKey]).toBeUndefined();
  });

  it('show a hand-over and its violations until the pool is at rest', async () => {
    await runStep(handOverServed, {
      config: { role: 'bootstrap', layering: { mode: 'on' } },
      facts: handOverFacts,
      kube,
      host: handOverHost(),
      clock: systemClock,
    });
    expect(await layer('status', '--pool', 'master')).toBe(8);
    expect(printed.join('')).toContain('violation         I7: pool Updated is not there');
    const condition = (type: string, status: string) => ({
      type,
      status,
      reason: '',
      message: '',
      lastTransitionTime: '2026-11-21T12:00:00Z',
    });
    await rig.client.mergeStatus(
      { kind: machineConfigPools, name: 'master' },
      {
        machineCount: 1,
        updatedMachineCount: 1,
        readyMachineCount: 1,
        conditions: [
          condition('Updated', 'True'),
          condition('Updating', 'False'),
          condition('Degraded', 'False'),
        ],
      },
    );
    output = [];
    expect(await layer('status', '--format', 'json')).toBe(0);
    expect(JSON.parse(output.join(''))).toMatchObject({
      pools: [{ pool: 'master', image: final, build: { name: buildNamed }, violations: [] }],
    });
  });

  it('name the pod and the budget that block a drain', async () => {
    const web = { name: 'web', namespace: 'default', labels: { app: 'web' } };
    await rig.client.apply(serviceAccounts, serviceAccountOf('default'));
    await rig.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: web,
      spec: {
        nodeName: 'm1',
        automountServiceAccountToken: false,
        containers: [{ name: 'web', image: 'registry.rig.test/web' }],
      },
    });
    await rig.client.create(podDisruptionBudgets, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: web,
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    const key = 'machineconfiguration.openshift.io/desiredDrain';
    const annotate = (value: string | null) =>
      rig.client.merge(
        { kind: nodes, name: 'm1' },
        { metadata: { annotations: { [key]: value } } },
      );
    await annotate(`drain-${rendered}`);
    expect(await layer('status', '--pool', 'master')).toBe(0);
    expect(printed.join('').replaceAll(/\s+/g, ' ')).toContain(
      'drain blocked: pod default/web by budget default/web',
    );
    await annotate(null);
  });

  it('work as in layering.md', async () => {
    const files = { 'admin.kubeconfig': rig.kubeconfig };
    await followGuide('layering.md', {}, { files, suite: 'kube' });
    expect(await there()).toEqual([true, true]);
  });
});
