import type { Kube } from '../../ports/kube.ts';
import type { KubeCluster } from './kube.ts';

/**
 * A cluster whose client is loaded with the first call, so that a host without a cluster never
 * loads it.
 */
export function onFirstUse(load: () => Promise<KubeCluster>): KubeCluster {
  let loading: Promise<KubeCluster> | undefined;
  const loaded = (): Promise<Kube> => (loading ??= load());
  return {
    get: async (...given) => (await loaded()).get(...given),
    list: async (...given) => (await loaded()).list(...given),
    follow: async (...given) => (await loaded()).follow(...given),
    patch: async (...given) => (await loaded()).patch(...given),
    create: async (...given) => (await loaded()).create(...given),
    replace: async (...given) => (await loaded()).replace(...given),
    apply: async (...given) => (await loaded()).apply(...given),
    remove: async (...given) => (await loaded()).remove(...given),
    evict: async (...given) => (await loaded()).evict(...given),
    podLog: async (...given) => (await loaded()).podLog(...given),
    close: async () => {
      await (await loading)?.close();
    },
  };
}
