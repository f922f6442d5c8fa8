import { pods } from '../../src/kube/kinds.ts';
import type { FakeKube } from './fake-kube.ts';

/** The end of a pod right after its creation. */
interface PodEnding {
  readonly phase: 'Succeeded' | 'Failed';
  readonly log: string;
}

/** A cluster whose pods end at once, each with the next given ending; the last one repeats. */
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
