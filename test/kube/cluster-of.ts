import { systemClock } from '../../src/adapters/clock.ts';
import { kubeCluster, type KubeCluster } from '../../src/adapters/kube/kube.ts';
import { systemRandom } from '../../src/adapters/random.ts';

/** The cluster of a kubeconfig, as the product reaches it; whoever opens it closes it. */
export const clusterOf = (kubeconfig: string, clock = systemClock): KubeCluster =>
  kubeCluster({
    credentials: () => Promise.resolve(kubeconfig),
    clock,
    random: systemRandom,
    tell: () => undefined,
  });
