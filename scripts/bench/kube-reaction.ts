import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { clusterParts, startRig } from '../rig.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { type KubeCluster, kubeCluster } from '../../src/adapters/kube/kube.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { nodes } from '../../src/cluster/kinds.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { ensureParts } from '../parts/ensure.ts';
import { type Figure, percentile } from './figure.ts';

const samples = 500;
const node = 'm0';
const command = 'npm run bench -- kube-reaction';

/** How soon a condition of a node that became true is acted on. */
export async function measureKubeReaction(): Promise<readonly Figure[]> {
  await ensureParts(clusterParts);
  await using rig = await startRig({ crds: [] });
  await rig.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  const kube = kubeCluster({
    credentials: () => Promise.resolve(rig.kubeconfig),
    clock: systemClock,
    random: systemRandom,
    tell: () => undefined,
  });
  const watched = await watchedTimes(rig, kube);
  await kube.close();
  return [
    {
      name: 'a condition of the cluster to the reaction, 99 of 100',
      unit: 's',
      measured: percentile(watched, 99),
      bound: 0.1,
      command,
    },
  ];
}

/** From sending the change to the call of whoever follows, in seconds. */
async function watchedTimes(rig: Rig, kube: KubeCluster): Promise<readonly number[]> {
  const stop = new AbortController();
  let heard: (mark: string) => void = () => undefined;
  const ended = kube.follow({ kind: nodes }, (view) => heard(markIn(view.objects)), stop.signal);
  const times: number[] = [];
  // The first one waits for the list and is not counted.
  for (let index = 0; index <= samples; index += 1) {
    const mark = `w${index}`;
    const { promise, resolve } = Promise.withResolvers<number>();
    heard = (seen) => {
      if (seen === mark) resolve(performance.now());
    };
    const since = performance.now();
    await setMark(rig, mark);
    const at = await promise;
    if (index > 0) times.push((at - since) / 1000);
  }
  stop.abort(new Error('measured'));
  await ended;
  return times;
}

const setMark = (rig: Rig, mark: string): Promise<unknown> =>
  rig.client.mergeStatus(
    { kind: nodes, name: node },
    { conditions: [{ type: 'Ready', status: 'True', reason: mark }] },
  );

interface Conditions {
  readonly conditions?: readonly { readonly reason?: string }[];
}

function markIn(objects: readonly KubeObject[]): string {
  const { conditions } = (objects[0]?.['status'] ?? {}) as Conditions;
  return conditions?.[0]?.reason ?? '';
}
