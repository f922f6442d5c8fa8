import { kinds } from './kinds.ts';
import { nodeStatus } from './objects.ts';
import { type ClusterWork, memberNamed } from './site.ts';

/** Lets the kubelet of a host say how its node is. */
export async function tellNode(work: ClusterWork, host: string, isReady: boolean): Promise<void> {
  const status = nodeStatus(memberNamed(work, host), {
    isReady,
    kubeletPort: work.kubelet.port,
    bootId: work.bootIds.of(host),
    at: new Date(),
  });
  await work.kube.client.mergeStatus({ kind: kinds.Node, name: host }, status);
}
