import type { KubeClient } from '../../mocks/kube/client.ts';
import {
  jobs,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../src/cluster/kinds.ts';
import { poolSnapshot } from '../../src/layering/hand-over/pool-status.ts';
import type { Kube } from '../../src/ports/kube.ts';
import { final, handOverFacts, operator, rendered } from '../layering/hand-over-site.ts';
import { nodeObject } from '../layering/layered-pool.ts';

/** The facts of the gate before the pivot. */
export const gateFacts = {
  ...handOverFacts,
  controlPlane: { units: [] },
  registry: {
    kind: 'running' as const,
    address: '10.0.0.1:5000',
    data: '',
    certificates: '',
    authFile: '',
  },
};

const annotations = {
  currentConfig: rendered,
  desiredConfig: rendered,
  currentImage: final,
  desiredImage: final,
  state: 'Done',
};

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: '',
  message: '',
  lastTransitionTime: '2026-11-21T12:00:00Z',
});

/** Puts two masters that run the image into a cluster, and says so of their pool. */
export async function putLayeredMasters(client: KubeClient): Promise<void> {
  for (const name of ['m1', 'm2']) {
    await client.apply(nodes, nodeObject(name, 'master', annotations));
  }
  await client.mergeStatus(
    { kind: machineConfigPools, name: 'master' },
    {
      machineCount: 2,
      updatedMachineCount: 2,
      readyMachineCount: 2,
      conditions: [
        condition('Updated', 'True'),
        condition('Updating', 'False'),
        condition('Degraded', 'False'),
      ],
    },
  );
}

/** What is to be seen of the masters and their image in a cluster. */
export async function sightOfMasters(kube: Kube) {
  const { signal } = new AbortController();
  const [pools, osConfigs, builds, all] = await Promise.all(
    [machineConfigPools, machineOSConfigs, machineOSBuilds, nodes].map((kind) =>
      kube.list({ kind }, signal),
    ),
  );
  return poolSnapshot('master', {
    pools: pools ?? [],
    osConfigs: osConfigs ?? [],
    builds: builds ?? [],
    nodes: all ?? [],
    jobs: await kube.list({ kind: jobs, namespace: operator }, signal),
  });
}
