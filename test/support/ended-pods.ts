import { pods } from '../../src/kube/kinds.ts';
import type { FakeKube } from './fake-kube.ts';

/** How a pod ends as soon as it is made. */
interface PodEnding {
  readonly phase: 'Succeeded' | 'Failed';
  readonly log: string;
}

/**
 * A cluster whose pods end at once, as a test says for each of them in turn; the last one stays.
 */
export function withEndedPods(kube: FakeKube, ...endings: readonly PodEnding[]): FakeKube {
  let made = 0;
  return {
    ...kube,
    create: async (into, object, signal) => {
      const created = await kube.create(into, object, signal);
      const ending = endings[Math.min(made, endings.length - 1)];
      if (into.kind.plural !== 'pods' || ending === undefined) return created;
      made += 1;
      const { spec } = object as { readonly spec?: { readonly containers?: readonly object[] } };
      for (const { name } of (spec?.containers ?? []) as readonly { readonly name: string }[]) {
        kube.withPodLog(`${object.metadata.name}/${name}`, ending.log);
      }
      kube.put(pods, { ...created, status: { phase: ending.phase } });
      return created;
    },
  };
}
