import { etcdNamespace } from '../../src/cluster/etcd-conditions.ts';
import { machineOSConfigs, nodes, pods } from '../../src/cluster/kinds.ts';
import { conditionOf, textAt } from '../../src/layering/cluster-object.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { isPaused, nodeIn, noted, playedImages, type PlayedNode } from './played-node.ts';

/** What is wrong with a restart of a node at this moment, a few words for each. */
export function wrongWithRestart(kube: FakeKube, node: PlayedNode): readonly string[] {
  const { image, renderedConfig } = playedImages[node.pool];
  const object = nodeIn(kube, node.name);
  const told = [noted(object, 'currentImage'), noted(object, 'desiredImage'), node.recorded];
  const others = kube.objectsOf(nodes).filter(({ metadata }) => metadata.name !== node.name);
  const isDrained = noted(object, 'lastAppliedDrain') === `drain-${renderedConfig}`;
  const areOthersAtWork = others.every(
    (one) => !noted(one, 'lastAppliedDrain').startsWith('drain'),
  );
  const rules: readonly (readonly [boolean, string])[] = [
    [isPaused(kube, node.pool), 'its pool goes on'],
    [isDrained, 'it is not drained'],
    [!isHandedOver(kube, node.pool), 'its pool is handed over already'],
    [node.staged === image, 'it starts into the image of another pool'],
    [told.every((one) => one === image), 'its daemon expects another image'],
    [areOthersAtWork, 'another node is drained'],
    [node.pool !== 'master' || membersOf(kube) >= 3, 'etcd lacks a member'],
  ];
  return rules.flatMap(([isKept, what]) => (isKept ? [] : [what]));
}

/** What of the masters is still to be done at this moment, when workers are begun with. */
export const unfinishedMasters = (kube: FakeKube): readonly string[] => [
  ...(isHandedOver(kube, 'master') ? [] : ['the masters are not handed over']),
  ...(isPaused(kube, 'master') ? ['the masters are not let go'] : []),
];

function isHandedOver(kube: FakeKube, pool: PlayedNode['pool']): boolean {
  const config = kube.objectsOf(machineOSConfigs).find(({ metadata }) => metadata.name === pool);
  return textAt(config, 'status', 'currentImagePullSpec') === playedImages[pool].image;
}

/** How many members of etcd are ready. */
const membersOf = (kube: FakeKube): number =>
  kube
    .objectsOf(pods)
    .filter(({ metadata }) => metadata.namespace === etcdNamespace)
    .filter((pod) => conditionOf(pod, 'Ready').status === 'True').length;
