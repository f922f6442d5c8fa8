import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { clusterParts, startRig } from '../rig.ts';
import { seconds } from '../../src/model/duration.ts';
import { ensureParts } from '../parts/ensure.ts';
import { openBootstrapStage } from './bootstrap-stage.ts';
import { beat, makeInstallConfig, makeNodes } from './crowd.ts';
import type { Figure } from './figure.ts';
import { pause } from './stage.ts';

const nodeCount = 500;
const usualMasters = 3;

/** How much memory the bootstrap agent needs at most beside a large cluster. */
export async function measureBootstrapMemory(): Promise<readonly Figure[]> {
  await ensureParts(clusterParts);
  return [
    await figureOf('of which 3 are masters', usualMasters),
    await figureOf('all of them labelled as masters', nodeCount),
  ];
}

async function figureOf(which: string, masters: number): Promise<Figure> {
  await using rig = await startRig({ crds: [] });
  await makeInstallConfig(rig);
  await makeNodes(rig, nodeCount, masters);
  return {
    name: `peak RSS of the bootstrap agent with ${nodeCount} nodes, ${which}`,
    unit: 'MiB',
    measured: await peakOf(rig),
    bound: 120,
    command: 'npm run bench -- bootstrap-memory',
  };
}

/** From its start until it has waited for masters while each node changed once. */
async function peakOf(rig: Rig): Promise<number> {
  await using stage = await openBootstrapStage(rig.kubeconfig);
  await beat(rig, nodeCount);
  await pause(seconds(2));
  return stage.agent.peakMiB();
}
