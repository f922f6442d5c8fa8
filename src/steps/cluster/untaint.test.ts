import { describe, expect, it } from 'vitest';
import {
  bootkubeHost,
  type NodeSketch,
  withInstallConfig,
  withInvoker,
  withNodes,
} from '../../../test/support/cluster-objects.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeInventory, inventoryHost } from '../../../test/support/fake-inventory.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { inventoryFailure } from '../../adapters/http/failures.ts';
import { nodes } from '../../kube/kinds.ts';
import { cloudTaint } from '../../cluster/cloud-taint.ts';
import { taintsOf } from '../../cluster/node.ts';
import { minutes } from '../../model/duration.ts';
import type { Kube } from '../../ports/kube.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { waitForMasters } from './wait-for-masters.ts';

const credentials = JSON.stringify({
  platform: { vsphere: { vcenters: [{ user: 'u', password: 'p', server: 's' }] } },
});
const tainted: NodeSketch = { name: 'm1', notReady: 'x', taints: ['other', cloudTaint] };

function setUp(
  platform: string,
  { invoker = 'assisted-service', version = '4.15.0', installer = '' } = {},
) {
  const yaml = `controlPlane: {replicas: 2}\nplatform: {${platform}: {vcenters: [{server: s}]}}`;
  const kube = withInvoker(withInstallConfig(fakeKube(), yaml), invoker, installer);
  const inventory = fakeInventory({
    cluster: { platformType: platform, installConfigOverrides: credentials },
    hosts: [inventoryHost({ name: 'm1' })],
  });
  const config = {
    role: 'bootstrap',
    cluster: { openshiftVersion: version },
    service: { url: 'http://svc.example' },
  } as const;
  const clock = fakeClock({ auto: false });
  const facts = { controlPlane: { units: [] } };
  return { config, clock, kube, inventory, host: bootkubeHost(), facts };
}

/** Runs the wait with a node for a minute, then lets it end. */
async function patchesWith(run: ReturnType<typeof setUp> & { kube: Kube }, sketch: NodeSketch) {
  withNodes(run.kube, sketch);
  const end = runStep(waitForMasters, run);
  await run.clock.advance(minutes(1));
  withNodes(run.kube, { name: 'm1' });
  await run.clock.advance(minutes(1));
  return { ...(await end), patches: run.kube.writes };
}

describe('the cloud provider taint', () => {
  it.each([
    ['nutanix', {}, 1],
    ['none', {}, 0],
    ['vsphere', { invoker: 'agent-installer' }, 0],
    ['vsphere', { invoker: 'agent-installer', version: '', installer: '4.15.0' }, 0],
    ['vsphere', { invoker: 'agent-installer', version: '', installer: '4.14.9' }, 1],
    ['vsphere', { invoker: 'agent-installer', version: '' }, 1],
  ])('on %s with %j is removed %i times', async (platform, options, times) => {
    const run = setUp(platform, options);
    const { patches } = await patchesWith(run, tainted);
    expect(patches).toHaveLength(times);
    expect(run.inventory.calls.filter((call) => call === 'cluster')).toHaveLength(1);
  });

  it('is removed by index with a test of the node UID and the taint', async () => {
    const { patches, notes } = await patchesWith(setUp('vsphere'), tainted);
    expect(patches).toMatchObject([
      {
        kind: 'nodes',
        name: 'm1',
        body: [
          { op: 'test', path: '/metadata/uid' },
          { op: 'test', value: { key: cloudTaint } },
          { op: 'remove', path: '/spec/taints/1' },
        ],
      },
    ]);
    expect(notes).toContain('info: removed the cloud provider taint from m1');
  });

  it.each([
    ['a Ready node', { name: 'm1', taints: [cloudTaint] }],
    ['a node without the taint', { name: 'm1', notReady: 'x', taints: ['other'] }],
  ])('needs no patch and no request to the service with %s', async (_, sketch) => {
    const run = setUp('vsphere');
    const { patches } = await patchesWith(run, sketch);
    expect(patches).toEqual([]);
    expect(run.inventory.calls).not.toContain('cluster');
  });

  it.each([
    ['vsphere', 'agent-installer', 0],
    ['vsphere', 'assisted-service', 1],
    ['none', 'assisted-service', 0],
  ])(
    'is decided by the install-config for %s and %s when the service is unreachable',
    async (platform, invoker, times) => {
      const run = setUp(platform, { invoker });
      run.inventory.failing('cluster', inventoryFailure('inventory.unreachable', 'down'), 1000);
      expect((await patchesWith(run, tainted)).patches).toHaveLength(times);
    },
  );

  it('is decided by the install-config when the service hangs', async () => {
    const run = setUp('nutanix');
    run.inventory.answering({
      cluster: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    expect((await patchesWith(run, tainted)).patches).toHaveLength(1);
  });

  it('is removed once the invoker is known', async () => {
    const run = setUp('vsphere');
    let requests = 0;
    const get: Kube['get'] = (ref, signal) => {
      requests += 1;
      if (requests === 1) return Promise.reject(kubeFailure('kube.unreachable', 'down'));
      return run.kube.get(ref, signal);
    };
    const { patches, notes } = await patchesWith({ ...run, kube: { ...run.kube, get } }, tainted);
    expect(patches).toHaveLength(1);
    expect(notes).toContain(
      'warn: could not decide whether to remove the cloud provider taint; trying again',
    );
  });

  it('is removed without another taint when the list has changed', async () => {
    const run = setUp('vsphere');
    let attempts = 0;
    const patch: Kube['patch'] = (ref, body, signal) => {
      attempts += 1;
      // Another writer is faster; this client has not seen that change yet.
      if (attempts === 1) withNodes(run.kube, { ...tainted, taints: [cloudTaint, 'other'] });
      return run.kube.patch(ref, body, signal);
    };
    const fake = { ...run.kube, patch };
    withNodes(run.kube, tainted);
    const end = runStep(waitForMasters, { ...run, kube: fake });
    await run.clock.advance(minutes(1));
    const [node] = run.kube.objectsOf(nodes);
    expect(node === undefined ? [] : taintsOf(node).map(({ key }) => key)).toEqual(['other']);
    withNodes(run.kube, { name: 'm1' });
    const { notes } = await end;
    expect(notes).toContain(
      'warn: could not remove the cloud provider taint from m1; trying again',
    );
    expect(attempts).toBe(2);
  });
});
