import type { Watch } from '../../engine/wait.ts';
import type { Kube, KubeSelection, KubeView } from '../../ports/kube.ts';
import { followed } from './cluster-wait.ts';

/** A selection whose first view is waited for. */
export interface FirstView {
  readonly watch: Watch;
  /** The latest view; the first as soon as there is one, or the watch has ended without. */
  readonly view: () => Promise<KubeView>;
}

/** Follows a selection for a wait that has nothing to tell before there is a first view. */
export function fromFirstView(kube: Kube, selection: KubeSelection): FirstView {
  const { view, watch } = followed(kube, selection);
  const opened = Promise.withResolvers<undefined>();
  return {
    view: async () => {
      await opened.promise;
      return view();
    },
    watch: async (changed, signal) => {
      const see = (): void => {
        opened.resolve(undefined);
        changed();
      };
      try {
        await watch(see, signal);
      } finally {
        opened.resolve(undefined);
      }
    },
  };
}
